-- Only while the beats stand where the observer saw them stop: a worker that beat meanwhile lives.
DELETE FROM postino_workers WHERE id = :id AND beats = :beats RETURNING id AS worker, suspect
