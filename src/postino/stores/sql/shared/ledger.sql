-- name: list_intents
SELECT step, position, number, intended_at, send_before_at, lookup_at FROM postino.intents
WHERE job_id = :job_id ORDER BY position, number

-- name: insert_receipt
INSERT INTO postino.receipts (job_id, step, number, verdict, remote_id, url, data, why, source, at)
VALUES (:job_id, :step, :number, :verdict, :remote_id, :url, :data, :why, :source, :now)
ON CONFLICT DO NOTHING
RETURNING at

-- name: list_receipts
SELECT step, number, verdict, remote_id, url, data, why, source, at FROM postino.receipts
WHERE job_id = :job_id ORDER BY at, step, number

-- name: claim_remote_id
-- A remote post belongs to the first job that claims it. Returns that job.
INSERT INTO postino.remote_ids AS known (channel, account, remote_id, job_id, at)
VALUES (:channel, :account, :remote_id, :job_id, :now)
ON CONFLICT (channel, account, remote_id) DO UPDATE SET at = known.at
RETURNING job_id

-- name: find_foreign_remote_ids
SELECT remote_id FROM postino.remote_ids
WHERE channel = :channel AND account = :account AND remote_id = ANY (:remote_ids::text[]) AND job_id <> :job_id

-- name: list_steps
SELECT name, position, asked_at, done_at, result FROM postino.steps WHERE job_id = :job_id ORDER BY position

-- name: delete_steps
DELETE FROM postino.steps WHERE job_id = :job_id

-- name: clear_may_be_live
-- Every call was certainly refused, so the network cannot have the post.
UPDATE postino.jobs AS job SET may_be_live = false
WHERE id = :id AND state = 'pending' AND may_be_live AND lookup_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM postino.receipts WHERE job_id = job.id AND verdict = 'accepted'
)
