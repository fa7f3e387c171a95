-- Only from where it stands: of two who save the same file, one does these rows, and the other waits and finds them done.
UPDATE postino_imports SET state = 'saving', looked = :upto, faults = :faults, changed_at = :now
WHERE id = :id AND looked = :looked AND state <> 'saved'
RETURNING id
