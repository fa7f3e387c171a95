-- Fenced by the token; from here on the job is sent. Repeated after a lost answer, it finds itself.
UPDATE postino_jobs
SET sent = 1, look_at = max(coalesce(look_at, ''),
        strftime('%Y-%m-%dT%H:%M:%f', :now, (:send_within + :settles_within) || ' seconds') || '000Z'),
    deadline_at = strftime('%Y-%m-%dT%H:%M:%f', :now, :limit || ' seconds') || '000Z'
WHERE id = :job_id AND token = :token;
INSERT INTO postino_intents AS intent (job_id, step, number, position, token, intended_at, send_before_at, look_at)
SELECT id, :step, :number, :position, :token, :now,
       strftime('%Y-%m-%dT%H:%M:%f', :now, :send_within || ' seconds') || '000Z',
       strftime('%Y-%m-%dT%H:%M:%f', :now, (:send_within + :settles_within) || ' seconds') || '000Z'
FROM postino_jobs WHERE id = :job_id AND token = :token
ON CONFLICT (job_id, step, number) DO UPDATE SET token = intent.token
RETURNING job_id, step, position, number, intended_at, send_before_at, look_at
