-- Programs' ways in. Of a key only its beginning is kept, and a digest that proves the rest.
CREATE TABLE postino_api_keys (
    id           text PRIMARY KEY,
    name         text NOT NULL UNIQUE,
    prefix       text NOT NULL,
    digest       text NOT NULL,
    role         text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
    brands       text,  -- as JSON; NULL: all
    created_by   text NOT NULL,
    created_at   text NOT NULL,
    expires_at   text,
    last_used_at text
);
CREATE INDEX postino_api_keys_by_prefix ON postino_api_keys (prefix);

CREATE TABLE postino_users (
    id         text PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    password   text,  -- argon2id
    role       text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
    brands     text,
    created_by text NOT NULL,
    created_at text NOT NULL
);

-- Browsers that are signed in, and links that sign one in: once.
CREATE TABLE postino_sessions (
    id         text PRIMARY KEY,
    user_id    text NOT NULL,
    digest     text NOT NULL,
    created_at text NOT NULL,
    seen_at    text NOT NULL,
    expires_at text NOT NULL
);
CREATE INDEX postino_sessions_by_user ON postino_sessions (user_id);
CREATE INDEX postino_sessions_by_end ON postino_sessions (expires_at);

CREATE TABLE postino_sign_in_links (
    id         text PRIMARY KEY,
    user_id    text NOT NULL,
    digest     text NOT NULL,
    created_at text NOT NULL,
    seen_at    text,
    expires_at text NOT NULL
);
CREATE INDEX postino_sign_in_links_by_user ON postino_sign_in_links (user_id);

-- Who guesses, by a digest of whom: people type passwords where names belong.
CREATE TABLE postino_login_throttles (
    subject  text PRIMARY KEY,
    failures integer NOT NULL,
    last_at  text
);
CREATE INDEX postino_login_throttles_by_age ON postino_login_throttles (last_at);
