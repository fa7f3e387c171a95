-- Sent, and refused every time: nothing of it is out there, so it is as if nothing had been sent.
UPDATE postino.jobs AS job SET sent = false
WHERE id = :id AND state = 'pending' AND sent AND look_at IS NULL AND NOT EXISTS (
    SELECT FROM postino.receipts WHERE job_id = job.id AND verdict = 'accepted'
)
