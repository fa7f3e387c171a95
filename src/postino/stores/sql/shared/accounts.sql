-- name: list_accounts
SELECT * FROM postino.accounts ORDER BY created_at, id

-- name: list_locked_accounts
SELECT * FROM postino.accounts WHERE state = 'locked' ORDER BY id

-- name: find_accounts
SELECT * FROM postino.accounts WHERE id = ANY (:ids::text[])

-- name: lock_account
-- Two requests that connect the same account run one after the other.
SELECT * FROM postino.accounts WHERE id = :id FOR UPDATE

-- name: insert_account
INSERT INTO postino.accounts (id, network, handle, base_url, brand, remote_id, service, sealed, created_at)
VALUES (:id, :network, :handle, :base_url, :brand, :remote_id, :service, :sealed, :now)
ON CONFLICT (id) DO NOTHING
RETURNING *

-- name: upsert_account
INSERT INTO postino.accounts AS known (id, network, handle, base_url, brand, remote_id, service, sealed, created_at)
VALUES (:id, :network, :handle, :base_url, :brand, :remote_id, :service, :sealed, :now)
ON CONFLICT (id) DO UPDATE SET handle = excluded.handle, base_url = excluded.base_url, brand = excluded.brand,
    remote_id = excluded.remote_id, service = excluded.service, sealed = excluded.sealed

-- name: set_account_state
UPDATE postino.accounts SET state = :state, reason = :reason, version = version + 1 WHERE id = :id RETURNING *

-- name: pause_account
UPDATE postino.accounts SET state = 'paused', reason = :reason, version = version + 1
WHERE id = :id AND state = 'active'

-- name: unpause_account
UPDATE postino.accounts SET state = 'active', reason = NULL, version = version + 1
WHERE id = :id AND state = 'paused'

-- name: count_account_jobs
-- Jobs that would still be published by the account, or may be on their way.
SELECT count(*) AS jobs FROM postino.jobs WHERE account = :account

-- name: list_vault_keys
SELECT id, proof, source FROM postino.vault_keys ORDER BY created_at, id

-- name: lock_vault_keys
-- Of two hosts that start on a new database at once, one makes the key.
SELECT pg_advisory_xact_lock(hashtext('postino.vault_keys'))

-- name: insert_vault_key
INSERT INTO postino.vault_keys (id, proof, source, created_at) VALUES (:id, :proof, :source, :now)

-- name: delete_vault_keys
DELETE FROM postino.vault_keys
