INSERT INTO postino.receipts (job_id, step, number, verdict, remote_id, url, data, why, told_by, at)
VALUES (:job_id, :step, :number, :verdict, :remote_id, :url, :data, :why, :told_by, coalesce(:now::timestamptz, now()))
ON CONFLICT DO NOTHING
RETURNING at
