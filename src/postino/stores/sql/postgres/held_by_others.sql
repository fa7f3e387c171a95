SELECT remote_id FROM postino.published
WHERE channel = :channel AND account = :account AND remote_id = ANY (:remote_ids::text[]) AND job_id <> :job_id
