-- The record of published posts. It is append-only: triggers refuse changes.
CREATE TABLE epochs (number integer PRIMARY KEY, started_at text NOT NULL);
CREATE TABLE published (
    number integer PRIMARY KEY AUTOINCREMENT, epoch integer NOT NULL, network text NOT NULL, account text NOT NULL,
    remote_id text NOT NULL, kind text NOT NULL, title text, text text NOT NULL, media text NOT NULL,
    reply_to text, published_at text NOT NULL
);
CREATE INDEX published_by_epoch ON published (epoch, number);
CREATE TRIGGER published_is_not_changed BEFORE UPDATE ON published
    BEGIN SELECT RAISE(ABORT, 'What was published is never altered.'); END;
CREATE TRIGGER published_is_not_removed BEFORE DELETE ON published
    BEGIN SELECT RAISE(ABORT, 'What was published is never removed.'); END;
-- REPLACE deletes rows without running the triggers above.
CREATE TRIGGER published_is_not_replaced BEFORE INSERT ON published
    WHEN EXISTS (SELECT 1 FROM published WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'What was published is never replaced.'); END;
-- A reset keeps these too: posts of older epochs contain them.
CREATE TABLE media (id text PRIMARY KEY, mime text NOT NULL, bytes blob NOT NULL);

-- The state of the networks.
CREATE TABLE accounts (
    network text NOT NULL, handle text NOT NULL, remote_id text NOT NULL, credentials text NOT NULL,
    blocked integer NOT NULL DEFAULT 0, PRIMARY KEY (network, handle), UNIQUE (network, remote_id)
) WITHOUT ROWID;
CREATE TABLE tokens (
    network text NOT NULL, token text NOT NULL, account text NOT NULL, kind text NOT NULL,
    issued_at real NOT NULL, expires_at real, PRIMARY KEY (network, token)
) WITHOUT ROWID;
CREATE TABLE things (
    number integer PRIMARY KEY, network text NOT NULL, kind text NOT NULL, id text NOT NULL, account text NOT NULL,
    body text NOT NULL, kept_at real NOT NULL, visible_at real NOT NULL, UNIQUE (network, kind, id)
);
CREATE INDEX things_by_account ON things (network, kind, account, number);
-- Uploads in pieces, until they are complete.
CREATE TABLE pieces (
    network text NOT NULL, upload text NOT NULL, start integer NOT NULL, bytes blob NOT NULL,
    PRIMARY KEY (network, upload, start)
) WITHOUT ROWID;
-- Continues after a reset, so that no id is used twice.
CREATE TABLE counter (value integer NOT NULL);
INSERT INTO counter VALUES (0);

-- Faults, counts of calls and settings.
CREATE TABLE faults (
    number integer PRIMARY KEY AUTOINCREMENT, network text NOT NULL, endpoint text, account text, fault text NOT NULL,
    times integer, rate real, params text NOT NULL, fired integer NOT NULL DEFAULT 0
);
CREATE TABLE calls (
    network text NOT NULL, account text NOT NULL, endpoint text NOT NULL, calls integer NOT NULL,
    PRIMARY KEY (network, account, endpoint)
) WITHOUT ROWID;
CREATE TABLE peaks (
    network text NOT NULL, account text NOT NULL, max_in_flight integer NOT NULL, PRIMARY KEY (network, account)
) WITHOUT ROWID;
CREATE TABLE settings (name text PRIMARY KEY, value real NOT NULL) WITHOUT ROWID;
