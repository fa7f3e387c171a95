CREATE TABLE postino.accounts (
    id         text PRIMARY KEY,
    network    text NOT NULL,
    handle     text NOT NULL,
    base_url   text NOT NULL,
    brand      text,
    remote_id  text,
    state      text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'token_expired', 'paused')),
    reason     text,
    sealed     bytea NOT NULL,
    created_at timestamptz NOT NULL
);

-- Never pruned, as posts are not.
CREATE TABLE postino.contents (
    id         uuid PRIMARY KEY,
    text       text NOT NULL,
    brand      text,
    user_id    text,
    version    int NOT NULL,
    created_at timestamptz NOT NULL
);

-- A post's id is its job's id.
CREATE TABLE postino.posts (
    id               uuid PRIMARY KEY,
    content_id       uuid NOT NULL,
    network          text NOT NULL,
    account          text NOT NULL,
    fingerprint      text NOT NULL,
    publish_until_at timestamptz,
    created_at       timestamptz NOT NULL
);
CREATE INDEX posts_content ON postino.posts (content_id);
CREATE INDEX posts_twins ON postino.posts (account, fingerprint, created_at);
CREATE INDEX posts_until ON postino.posts (publish_until_at) WHERE publish_until_at IS NOT NULL;
