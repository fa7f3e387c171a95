UPDATE postino.imports SET state = 'saved', file = '', faults = :faults, changed_at = coalesce(:now::timestamptz, now()) WHERE id = :id RETURNING *
