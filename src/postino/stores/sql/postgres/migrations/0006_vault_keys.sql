-- A check value for each vault key, never a key: a process whose keys open none of them has the wrong ones.
CREATE TABLE postino.vault_keys (
    id         text PRIMARY KEY,
    proof      bytea NOT NULL,  -- a constant, encrypted with the key
    source     text NOT NULL,   -- the host and file that it came from
    created_at timestamptz NOT NULL
);

-- Locked: the vault has no key that opens the credentials.
ALTER TABLE postino.accounts DROP CONSTRAINT accounts_state_check;
ALTER TABLE postino.accounts ADD CONSTRAINT accounts_state_check
    CHECK (state IN ('active', 'token_expired', 'suspended', 'locked', 'paused'));
