-- Before what is only planned.
UPDATE postino.jobs SET queue = :queue WHERE id = :id AND state = 'pending'
