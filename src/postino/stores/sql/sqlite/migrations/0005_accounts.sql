-- When each post ended, so that the second-click guard and cooldowns find recent and waiting posts without a scan.
ALTER TABLE postino_posts ADD COLUMN ended_at text;
DROP INDEX postino_posts_duplicates;
CREATE INDEX postino_posts_live_duplicates ON postino_posts (account, fingerprint, scheduled_at) WHERE phase = 'live';
CREATE INDEX postino_posts_published ON postino_posts (account, ended_at) WHERE phase = 'completed';
UPDATE postino_posts SET ended_at = job.finished_at FROM postino_finished_jobs AS job
WHERE job.id = postino_posts.id AND job.type = 'postino.post' AND NOT job.superseded
  AND job.finished_at > strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-1 day');  -- older ones matter to neither
DROP TRIGGER postino_post_finished;
CREATE TRIGGER postino_post_finished AFTER INSERT ON postino_finished_jobs WHEN NEW.type = 'postino.post'
BEGIN
    UPDATE postino_posts SET phase = NEW.state, ended_at = NEW.finished_at WHERE id = NEW.id AND phase <> NEW.state;
END;

-- Changes with the credentials and the state: what was decided about an older version does not overwrite a newer one.
ALTER TABLE postino_accounts ADD COLUMN version integer NOT NULL DEFAULT 1;

-- The state and the gates of an account agree from now on. Before, a reconnect made a paused account active.
UPDATE postino_accounts SET state = 'paused', reason = (
    SELECT reason FROM postino_gates WHERE scope = 'account' AND name = postino_accounts.id AND kind = 'pause'
)
WHERE state = 'active' AND EXISTS (
    SELECT 1 FROM postino_gates WHERE scope = 'account' AND name = postino_accounts.id AND kind = 'pause'
);
UPDATE postino_accounts SET state = 'token_expired', reason = (
    SELECT reason FROM postino_gates WHERE scope = 'account' AND name = postino_accounts.id AND kind = 'token'
)
WHERE state IN ('active', 'paused') AND EXISTS (
    SELECT 1 FROM postino_gates WHERE scope = 'account' AND name = postino_accounts.id AND kind = 'token'
);

-- One row: the blackout windows and caps of the settings, which hold for all workers.
CREATE TABLE postino_settings (
    id         integer PRIMARY KEY CHECK (id = 1),
    version    integer NOT NULL,
    content    text NOT NULL,  -- as JSON
    written_by text NOT NULL,
    written_at text NOT NULL
);
