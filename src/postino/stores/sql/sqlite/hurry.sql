-- Before what is only planned.
UPDATE postino_jobs SET queue = :queue WHERE id = :id AND state = 'pending'
