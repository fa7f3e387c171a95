-- What all accounts of a channel share is counted by one at a time.
SELECT pg_advisory_xact_lock(hashtext('postino.quota ' || :channel))
