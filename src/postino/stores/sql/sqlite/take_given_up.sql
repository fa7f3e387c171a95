-- What was due before a network has been in trouble for too long, where nobody said how long that is, and nothing is or may
-- be out; out of everybody's reach until the end of this transaction.
UPDATE postino_jobs SET state = 'uncertain'
WHERE state = 'pending' AND id IN (
    SELECT job.id FROM postino_circuits AS circuit
    JOIN postino_jobs AS job ON job.channel = circuit.service
    JOIN postino_posts AS post ON post.id = job.id
    WHERE circuit.trouble_at <= strftime('%Y-%m-%dT%H:%M:%f', :now, -:seconds || ' seconds') || '999Z' AND post.publish_until_at IS NULL AND job.state = 'pending' AND job.look_at IS NULL
      AND job.scheduled_at <= strftime('%Y-%m-%dT%H:%M:%f', :now, -:seconds || ' seconds') || '999Z' AND NOT EXISTS (
          SELECT 1 FROM postino_receipts WHERE job_id = job.id AND verdict = 'accepted'
      )
      AND job.generation = 1  -- a person who replays it wants it all the same
    ORDER BY job.id LIMIT 500
)
RETURNING *
