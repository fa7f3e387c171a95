-- Where a remote id is unique, for networks whose ids are not unique for an account: Telegram numbers the messages of
-- each chat from 1. Ids from before keep an empty scope, so they do not clash with those of a new chat.
ALTER TABLE postino.intents ADD COLUMN id_scope text NOT NULL DEFAULT '';

ALTER TABLE postino.remote_ids ADD COLUMN scope text NOT NULL DEFAULT '';
ALTER TABLE postino.remote_ids DROP CONSTRAINT remote_ids_pkey;
ALTER TABLE postino.remote_ids ADD PRIMARY KEY (channel, account, scope, remote_id);
