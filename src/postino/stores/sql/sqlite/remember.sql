-- Fenced by the token: whoever lost the job remembers nothing. Asked again, a step keeps when it was first asked for.
UPDATE postino_jobs SET deadline_at = strftime('%Y-%m-%dT%H:%M:%f', :now, :limit || ' seconds') || '000Z'
WHERE id = :job_id AND token = :token;
INSERT INTO postino_steps AS step (job_id, name, position, asked_at, done_at, result)
SELECT id, :name, :position, :now, CASE WHEN :done THEN :now END, :result
FROM postino_jobs WHERE id = :job_id AND token = :token
ON CONFLICT (job_id, name) DO UPDATE SET done_at = excluded.done_at, result = excluded.result
RETURNING name, position, asked_at, done_at, result
