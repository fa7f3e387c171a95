-- What lists and the calendar look posts up by, beside the post: its job moves from table to table when it ends.
-- Kept true by the triggers below, in the transaction that changes the job, whoever that is.
ALTER TABLE postino_posts ADD COLUMN brand text;
ALTER TABLE postino_posts ADD COLUMN scheduled_at text;
ALTER TABLE postino_posts ADD COLUMN phase text NOT NULL DEFAULT 'live' CHECK (phase IN ('live', 'completed', 'failed', 'cancelled'));
UPDATE postino_posts SET brand = job.brand, scheduled_at = job.scheduled_at,
    phase = CASE WHEN job.state IN ('completed', 'failed', 'cancelled') THEN job.state ELSE 'live' END
FROM postino_stored_jobs AS job WHERE job.id = postino_posts.id;
CREATE INDEX postino_posts_account ON postino_posts (account, phase, id);
CREATE INDEX postino_posts_brand ON postino_posts (brand, phase, id);
CREATE INDEX postino_posts_network ON postino_posts (network, phase, id);
CREATE INDEX postino_posts_phase ON postino_posts (phase, id);
CREATE INDEX postino_posts_at ON postino_posts (scheduled_at, id);
CREATE INDEX postino_posts_account_at ON postino_posts (account, scheduled_at, id);
CREATE INDEX postino_posts_brand_at ON postino_posts (brand, scheduled_at, id);

CREATE TRIGGER postino_post_ended AFTER INSERT ON postino_finished_jobs WHEN NEW.type = 'postino.post'
BEGIN
    UPDATE postino_posts SET phase = NEW.state WHERE id = NEW.id AND phase <> NEW.state;
END;
CREATE TRIGGER postino_post_replayed AFTER INSERT ON postino_jobs WHEN NEW.type = 'postino.post' AND NEW.generation > 1
BEGIN
    UPDATE postino_posts SET phase = 'live', scheduled_at = NEW.scheduled_at WHERE id = NEW.id;
END;
CREATE TRIGGER postino_post_moved AFTER UPDATE OF scheduled_at ON postino_jobs
    WHEN NEW.type = 'postino.post' AND NEW.scheduled_at IS NOT OLD.scheduled_at
BEGIN
    UPDATE postino_posts SET phase = 'live', scheduled_at = NEW.scheduled_at WHERE id = NEW.id;
END;

-- What people look for in a content: all its words, in one case.
ALTER TABLE postino_contents ADD COLUMN search_text text NOT NULL DEFAULT '';
UPDATE postino_contents SET search_text = lower(text);

-- What was answered to a request with a key, for ever: written with what the request made.
CREATE TABLE postino_stored_responses (
    caller     text NOT NULL,
    key        text NOT NULL,
    request_hash text NOT NULL,
    endpoint   text NOT NULL,
    status     integer,
    body       text,
    created_at text NOT NULL,
    PRIMARY KEY (caller, key)
) WITHOUT ROWID;

-- Requests for posts that nobody has made yet.
CREATE TABLE postino_drafts (
    id         text PRIMARY KEY,
    brand      text,
    author     text NOT NULL,
    body       text NOT NULL,
    version    integer NOT NULL,
    created_at text NOT NULL,
    changed_at text NOT NULL
);
CREATE INDEX postino_drafts_brand ON postino_drafts (brand, id);

-- Files of posts: checked first, then saved.
CREATE TABLE postino_imports (
    id         text PRIMARY KEY,
    caller     text NOT NULL,
    author     text NOT NULL,
    state      text NOT NULL CHECK (state IN ('checked', 'saving', 'saved')),
    token      text NOT NULL,
    file       blob NOT NULL,
    timezone   text,
    rows       integer NOT NULL,
    looked     integer NOT NULL DEFAULT 0,  -- rows that were saved, known already or refused
    created    integer NOT NULL DEFAULT 0,  -- posts
    known      integer NOT NULL DEFAULT 0,
    faults     text NOT NULL,
    created_at text NOT NULL,
    changed_at text NOT NULL
);
CREATE UNIQUE INDEX postino_imports_token ON postino_imports (caller, token);
