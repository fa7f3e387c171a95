UPDATE postino_imports SET state = 'saved', file = x'', faults = :faults, changed_at = :now WHERE id = :id RETURNING *
