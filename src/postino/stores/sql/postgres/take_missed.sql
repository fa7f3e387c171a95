-- What was to be out by now and has sent nothing; out of everybody's reach until the end of this transaction.
UPDATE postino.jobs SET state = 'uncertain'
WHERE state = 'pending' AND id IN (
    SELECT job.id FROM postino.posts AS post JOIN postino.jobs AS job ON job.id = post.id
    WHERE post.publish_until_at <= coalesce(:now::timestamptz, now()) AND job.state = 'pending' AND NOT job.sent
      AND job.generation = 1  -- a person who replays it wants it all the same
    ORDER BY job.id LIMIT 500
    FOR UPDATE OF job SKIP LOCKED
)
RETURNING *
