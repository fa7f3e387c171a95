-- name: insert_intents
-- Fenced by the token. From here on the network may have the post. Repeated after a lost response, it returns the same
-- intent.
UPDATE postino.jobs
SET may_be_live = 1, lookup_at = max(coalesce(lookup_at, ''),
        :now + make_interval(secs => :send_within + :settles_within)),
    deadline_at = :now + make_interval(secs => :limit)
WHERE id = :job_id AND token = :token;
INSERT INTO postino.intents AS intent (job_id, step, number, position, token, intended_at, send_before_at, lookup_at)
SELECT id, :step, :number, :position, :token, :now,
       :now + make_interval(secs => :send_within),
       :now + make_interval(secs => :send_within + :settles_within)
FROM postino.jobs WHERE id = :job_id AND token = :token
ON CONFLICT (job_id, step, number) DO UPDATE SET token = intent.token
RETURNING job_id, step, position, number, intended_at, send_before_at, lookup_at

-- name: save_step
-- Fenced by the token: a worker that lost the job saves nothing. A repeated step keeps the time when it was first asked
-- for.
UPDATE postino.jobs SET deadline_at = :now + make_interval(secs => :limit)
WHERE id = :job_id AND token = :token;
INSERT INTO postino.steps AS step (job_id, name, position, asked_at, done_at, result)
SELECT id, :name, :position, :now, CASE WHEN :done THEN :now END, :result
FROM postino.jobs WHERE id = :job_id AND token = :token
ON CONFLICT (job_id, name) DO UPDATE SET done_at = excluded.done_at, result = excluded.result
RETURNING name, position, asked_at, done_at, result

-- name: delete_step
-- Fenced by the token. Once something visible was sent, only the named step is deleted: the call was built on the
-- others.
DELETE FROM postino.steps
WHERE job_id = (SELECT id FROM postino.jobs WHERE id = :job_id AND token = :token AND (postino.steps.name = :name
  OR NOT may_be_live));
SELECT id FROM postino.jobs WHERE id = :job_id AND token = :token

-- name: requeue_uncertain
-- Sets when the network may be asked. An uncertain job is requeued for that time, because a new receipt has arrived.
INSERT INTO postino.lane_hints (channel, lane, account)
SELECT channel, lane, account FROM postino.jobs WHERE id = :job_id AND lane IS NOT NULL AND state = 'uncertain';
UPDATE postino.jobs
SET lookup_at = :lookup_at, run_at =
  CASE WHEN state = 'uncertain' THEN max(coalesce(:lookup_at, ''), :now) ELSE run_at END
WHERE id = :job_id
