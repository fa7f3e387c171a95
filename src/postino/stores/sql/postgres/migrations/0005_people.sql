-- Programs' ways in. Of a key only its beginning is kept, and a digest that proves the rest.
CREATE TABLE postino.api_keys (
    id           uuid PRIMARY KEY,
    name         text NOT NULL UNIQUE,
    prefix       text NOT NULL,
    digest       text NOT NULL,
    role         text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
    brands       text,  -- as JSON; NULL: all
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz
);
CREATE INDEX api_keys_by_prefix ON postino.api_keys (prefix);

CREATE TABLE postino.users (
    id         uuid PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    password   text,  -- argon2id
    role       text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
    brands     text,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL
);

-- Browsers that are signed in, and links that sign one in: once.
CREATE TABLE postino.sessions (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL,
    digest     text NOT NULL,
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_by_user ON postino.sessions (user_id);
CREATE INDEX sessions_by_end ON postino.sessions (expires_at);

CREATE TABLE postino.sign_in_links (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL,
    digest     text NOT NULL,
    created_at timestamptz NOT NULL,
    seen_at    timestamptz,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_links_by_user ON postino.sign_in_links (user_id);

-- Who guesses, by a digest of whom: people type passwords where names belong.
CREATE TABLE postino.login_throttles (
    subject  text PRIMARY KEY,
    failures int NOT NULL,
    last_at  timestamptz
);
CREATE INDEX login_throttles_by_age ON postino.login_throttles (last_at);
