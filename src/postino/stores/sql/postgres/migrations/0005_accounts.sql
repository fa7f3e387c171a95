-- When each post ended, so that the second-click guard and cooldowns find recent and waiting posts without a scan.
ALTER TABLE postino.posts ADD COLUMN ended_at timestamptz;
DROP INDEX postino.posts_duplicates;
CREATE INDEX posts_live_duplicates ON postino.posts (account, fingerprint, scheduled_at) WHERE phase = 'live';
CREATE INDEX posts_published ON postino.posts (account, ended_at) WHERE phase = 'completed';
UPDATE postino.posts AS post SET ended_at = job.finished_at FROM postino.finished_jobs AS job
WHERE job.id = post.id AND job.type = 'postino.post' AND NOT job.superseded
  AND job.finished_at > now() - interval '1 day';  -- older ones matter to neither
CREATE OR REPLACE FUNCTION postino.finish_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE postino.posts SET phase = NEW.state, ended_at = NEW.finished_at WHERE id = NEW.id AND phase <> NEW.state;
    RETURN NULL;
END
$$;

-- Changes with the credentials and the state: what was decided about an older version does not overwrite a newer one.
ALTER TABLE postino.accounts ADD COLUMN version bigint NOT NULL DEFAULT 1;

-- The state and the gates of an account agree from now on. Before, a reconnect made a paused account active.
UPDATE postino.accounts SET state = 'paused', reason = (
    SELECT reason FROM postino.gates WHERE scope = 'account' AND name = postino.accounts.id AND kind = 'pause'
)
WHERE state = 'active' AND EXISTS (
    SELECT 1 FROM postino.gates WHERE scope = 'account' AND name = postino.accounts.id AND kind = 'pause'
);
UPDATE postino.accounts SET state = 'token_expired', reason = (
    SELECT reason FROM postino.gates WHERE scope = 'account' AND name = postino.accounts.id AND kind = 'token'
)
WHERE state IN ('active', 'paused') AND EXISTS (
    SELECT 1 FROM postino.gates WHERE scope = 'account' AND name = postino.accounts.id AND kind = 'token'
);

-- One row: the blackout windows and caps of the settings, which hold for all workers.
CREATE TABLE postino.settings (
    id         int PRIMARY KEY CHECK (id = 1),
    version    bigint NOT NULL,
    content    text NOT NULL,  -- as JSON
    written_by text NOT NULL,
    written_at timestamptz NOT NULL
);
