-- As long as it folds hints, no gate is opened: who opens one could not see the lanes that are just being closed.
SELECT pg_advisory_xact_lock_shared(hashtext('postino.lanes'))
