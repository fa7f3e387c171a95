-- Sent, and refused every time: nothing of it is out there, so it is as if nothing had been sent.
UPDATE postino_jobs SET sent = 0
WHERE id = :id AND state = 'pending' AND sent AND look_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM postino_receipts WHERE job_id = postino_jobs.id AND verdict = 'accepted'
)
