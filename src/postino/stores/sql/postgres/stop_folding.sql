-- Waits until every lane that is being closed can be seen, and lets none be closed meanwhile.
SELECT pg_advisory_xact_lock(hashtext('postino.lanes'))
