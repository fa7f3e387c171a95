INSERT INTO postino_receipts (job_id, step, number, verdict, remote_id, url, data, why, told_by, at)
VALUES (:job_id, :step, :number, :verdict, :remote_id, :url, :data, :why, :told_by, :now)
ON CONFLICT DO NOTHING
RETURNING at
