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
-- A remote post belongs to the first job that claims it. Returns that job. The scope of the id is that of the response,
-- else that of the intent: a receipt may come later, when the account is connected to another chat. An id without an
-- intent is from a person.
INSERT INTO postino.remote_ids AS known (channel, account, scope, remote_id, job_id, at)
VALUES (:channel, :account,
        coalesce(
            :response_scope::text,
            (SELECT id_scope FROM postino.intents WHERE job_id = :job_id AND step = :step AND number = :number),
            :id_scope),
        :remote_id, :job_id, :now)
ON CONFLICT (channel, account, scope, remote_id) DO UPDATE SET at = known.at
RETURNING job_id

-- name: find_newest_scope
-- The scope of the newest response in this named scope: a person knows the name of a chat, not its number.
WITH named AS (
    SELECT coalesce(
        (SELECT id_scope FROM postino.intents WHERE job_id = :job_id AND step = :step AND number = :number),
        :id_scope::text) AS scope)
SELECT known.scope FROM postino.remote_ids AS known, named
WHERE known.channel = :channel AND known.account = :account
  AND substr(known.scope, 1, length(named.scope) + 1) = named.scope || ' '
ORDER BY known.at DESC LIMIT 1

-- name: find_foreign_remote_ids
SELECT remote_id FROM postino.remote_ids
WHERE channel = :channel AND account = :account AND scope = :scope AND remote_id = ANY (:remote_ids::text[])
  AND job_id <> :job_id

-- name: extend_deadline
-- Fenced by the token.
UPDATE postino.jobs SET deadline_at = :now + make_interval(secs => :limit::float8)
WHERE id = :job_id AND token = :token

-- name: list_steps
SELECT name, position, asked_at, done_at, result FROM postino.steps WHERE job_id = :job_id ORDER BY position

-- name: delete_steps
DELETE FROM postino.steps WHERE job_id = :job_id

-- name: apply_ledger
-- Writes to an unfinished job what its ledger says. An uncertain job is due when the network may be asked: at once, if nothing
-- is in doubt any more.
UPDATE postino.jobs
SET may_be_live = :may_be_live, lookup_at = :lookup_at::timestamptz, run_at = CASE
        WHEN state <> 'uncertain' THEN run_at
        WHEN :lookup_at::timestamptz > :now THEN :lookup_at::timestamptz
        ELSE :now
    END
WHERE id = :job_id
