-- What lists and the calendar look posts up by, beside the post: its job moves from table to table when it ends.
-- Kept true by the triggers below, in the transaction that changes the job, whoever that is.
ALTER TABLE postino.posts ADD COLUMN brand text, ADD COLUMN scheduled_at timestamptz,
    ADD COLUMN phase text NOT NULL DEFAULT 'live' CHECK (phase IN ('live', 'completed', 'failed', 'cancelled'));
UPDATE postino.posts AS post SET brand = job.brand, scheduled_at = job.scheduled_at,
    phase = CASE WHEN job.state IN ('completed', 'failed', 'cancelled') THEN job.state ELSE 'live' END
FROM postino.stored_jobs AS job WHERE job.id = post.id;
CREATE INDEX posts_account ON postino.posts (account, phase, id);
CREATE INDEX posts_brand ON postino.posts (brand, phase, id);
CREATE INDEX posts_network ON postino.posts (network, phase, id);
CREATE INDEX posts_phase ON postino.posts (phase, id);
CREATE INDEX posts_at ON postino.posts (scheduled_at, id);
CREATE INDEX posts_account_at ON postino.posts (account, scheduled_at, id);
CREATE INDEX posts_brand_at ON postino.posts (brand, scheduled_at, id);

CREATE FUNCTION postino.post_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE postino.posts SET phase = NEW.state WHERE id = NEW.id AND phase <> NEW.state;
    RETURN NULL;
END
$$;
CREATE FUNCTION postino.post_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE postino.posts SET phase = 'live', scheduled_at = NEW.scheduled_at WHERE id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER post_ended AFTER INSERT ON postino.finished_jobs FOR EACH ROW WHEN (NEW.type = 'postino.post')
    EXECUTE FUNCTION postino.post_ended();
CREATE TRIGGER post_replayed AFTER INSERT ON postino.jobs FOR EACH ROW WHEN (NEW.type = 'postino.post' AND NEW.generation > 1)
    EXECUTE FUNCTION postino.post_moved();
CREATE TRIGGER post_moved AFTER UPDATE OF scheduled_at ON postino.jobs FOR EACH ROW
    WHEN (NEW.type = 'postino.post' AND NEW.scheduled_at IS DISTINCT FROM OLD.scheduled_at)
    EXECUTE FUNCTION postino.post_moved();

-- What people look for in a content: all its words, in one case.
ALTER TABLE postino.contents ADD COLUMN search_text text NOT NULL DEFAULT '';
UPDATE postino.contents SET search_text = lower(text);

-- What was answered to a request with a key, for ever: written with what the request made.
CREATE TABLE postino.stored_responses (
    caller     text NOT NULL,
    key        text NOT NULL,
    request_hash text NOT NULL,
    endpoint   text NOT NULL,
    status     int,
    body       text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (caller, key)
);

-- Requests for posts that nobody has made yet.
CREATE TABLE postino.drafts (
    id         uuid PRIMARY KEY,
    brand      text,
    author     text NOT NULL,
    body       text NOT NULL,
    version    int NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);
CREATE INDEX drafts_brand ON postino.drafts (brand, id);

-- Files of posts: checked first, then saved.
CREATE TABLE postino.imports (
    id         uuid PRIMARY KEY,
    caller     text NOT NULL,
    author     text NOT NULL,
    state      text NOT NULL CHECK (state IN ('checked', 'saving', 'saved')),
    token      text NOT NULL,
    file       bytea NOT NULL,
    timezone   text,
    rows       int NOT NULL,
    looked     int NOT NULL DEFAULT 0,  -- rows that were saved, known already or refused
    created    int NOT NULL DEFAULT 0,  -- posts
    known      int NOT NULL DEFAULT 0,
    faults     text NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX imports_token ON postino.imports (caller, token);
