CREATE TABLE postino_accounts (
    id         text PRIMARY KEY,
    network    text NOT NULL,
    handle     text NOT NULL,
    base_url   text NOT NULL,
    brand      text,
    remote_id  text,
    state      text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'token_expired', 'paused')),
    reason     text,
    sealed     blob NOT NULL,
    created_at text NOT NULL
);

-- Never pruned, as posts are not.
CREATE TABLE postino_contents (
    id         text PRIMARY KEY,
    text       text NOT NULL,
    brand      text,
    user_id    text,
    version    integer NOT NULL,
    created_at text NOT NULL
);

-- A post's id is its job's id.
CREATE TABLE postino_posts (
    id               text PRIMARY KEY,
    content_id       text NOT NULL,
    network          text NOT NULL,
    account          text NOT NULL,
    fingerprint      text NOT NULL,
    publish_until_at text,
    created_at       text NOT NULL
);
CREATE INDEX postino_posts_content ON postino_posts (content_id);
CREATE INDEX postino_posts_twins ON postino_posts (account, fingerprint, created_at);
CREATE INDEX postino_posts_until ON postino_posts (publish_until_at) WHERE publish_until_at IS NOT NULL;
