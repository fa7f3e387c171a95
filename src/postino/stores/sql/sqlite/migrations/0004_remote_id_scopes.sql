-- Where a remote id is unique, for networks whose ids are not unique for an account: Telegram numbers the messages of
-- each chat from 1. Ids from before keep an empty scope, so they do not clash with those of a new chat.
ALTER TABLE postino_intents ADD COLUMN id_scope text NOT NULL DEFAULT '';

CREATE TABLE postino_scoped_remote_ids (
    channel   text NOT NULL,
    account   text NOT NULL,
    scope     text NOT NULL DEFAULT '',
    remote_id text NOT NULL,
    job_id    text NOT NULL,
    at        text NOT NULL,
    PRIMARY KEY (channel, account, scope, remote_id)
) WITHOUT ROWID;
INSERT INTO postino_scoped_remote_ids (channel, account, remote_id, job_id, at)
SELECT channel, account, remote_id, job_id, at FROM postino_remote_ids;
DROP TABLE postino_remote_ids;
ALTER TABLE postino_scoped_remote_ids RENAME TO postino_remote_ids;
