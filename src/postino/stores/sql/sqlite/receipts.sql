SELECT step, number, verdict, remote_id, url, data, why, told_by, at FROM postino_receipts
WHERE job_id = :job_id ORDER BY at, step, number
