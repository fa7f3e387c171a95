-- name: list_accounts
SELECT * FROM postino.accounts ORDER BY created_at, id

-- name: find_accounts
SELECT * FROM postino.accounts WHERE id = ANY (:ids::text[])

-- name: lock_account
-- Two requests that connect the same account run one after the other.
SELECT * FROM postino.accounts WHERE id = :id FOR UPDATE

-- name: insert_account
INSERT INTO postino.accounts (id, network, handle, base_url, brand, remote_id, sealed, created_at)
VALUES (:id, :network, :handle, :base_url, :brand, :remote_id, :sealed, :now)
ON CONFLICT (id) DO NOTHING
RETURNING *

-- name: upsert_account
INSERT INTO postino.accounts AS known (id, network, handle, base_url, brand, remote_id, sealed, created_at)
VALUES (:id, :network, :handle, :base_url, :brand, :remote_id, :sealed, :now)
ON CONFLICT (id) DO UPDATE SET handle = excluded.handle, base_url = excluded.base_url, brand = excluded.brand,
    remote_id = excluded.remote_id, sealed = excluded.sealed,
    -- New credentials end an expired token, not a person's pause.
    state = CASE WHEN known.state = 'paused' THEN known.state ELSE 'active' END,
    reason = CASE WHEN known.state = 'paused' THEN known.reason END
RETURNING *

-- name: set_account_state
UPDATE postino.accounts SET state = :state, reason = :reason WHERE id = :id RETURNING *

-- name: unpause_account
UPDATE postino.accounts SET state = 'active', reason = NULL WHERE id = :id AND state = 'paused'

-- name: count_account_jobs
-- Jobs that would still be published by the account, or may be on their way.
SELECT count(*) AS jobs FROM postino.jobs WHERE account = :account
