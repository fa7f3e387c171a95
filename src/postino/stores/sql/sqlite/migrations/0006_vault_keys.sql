-- A check value for each vault key, never a key: a process whose keys open none of them has the wrong ones.
CREATE TABLE postino_vault_keys (
    id         text PRIMARY KEY,
    proof      blob NOT NULL,  -- a constant, encrypted with the key
    source     text NOT NULL,  -- the host and file that it came from
    created_at text NOT NULL
);

-- Locked: the vault has no key that opens the credentials. SQLite changes a check only with a new table.
CREATE TABLE postino_new_accounts (
    id         text PRIMARY KEY,
    network    text NOT NULL,
    handle     text NOT NULL,
    base_url   text NOT NULL,
    brand      text,
    remote_id  text,
    state      text NOT NULL DEFAULT 'active'
               CHECK (state IN ('active', 'token_expired', 'suspended', 'locked', 'paused')),
    reason     text,
    sealed     blob NOT NULL,  -- the credentials, encrypted
    created_at text NOT NULL,
    version    integer NOT NULL DEFAULT 1
);
INSERT INTO postino_new_accounts
    (id, network, handle, base_url, brand, remote_id, state, reason, sealed, created_at, version)
SELECT id, network, handle, base_url, brand, remote_id, state, reason, sealed, created_at, version
FROM postino_accounts;
DROP TABLE postino_accounts;
ALTER TABLE postino_new_accounts RENAME TO postino_accounts;
