SELECT remote_id FROM postino_published
WHERE channel = :channel AND account = :account AND remote_id IN (SELECT value FROM json_each(:remote_ids)) AND job_id <> :job_id
