-- What tells a restored or copied database from one that was only unused. `database_identity` compared clocks; these
-- tables compare numbers with those that every sending process remembers outside the database.

-- One row: which database this is, where it was when last adopted, and whether workers may send.
CREATE TABLE postino_database_state (
    id             int PRIMARY KEY CHECK (id = 1),
    installation   text,  -- NULL, like era and place: no worker has used the database yet
    era            text,  -- new with each answer of a person
    place          text,
    pulse          integer NOT NULL DEFAULT 0,  -- + 1 every 30 seconds while a worker vouches for the database
    alive_at       text,  -- when the pulse last changed
    answered_pulse integer,  -- the pulse at the last answer: until it changes, that answer vouches for the database
    standing       text NOT NULL DEFAULT 'open' CHECK (standing IN ('open', 'roll_call', 'asked', 'copy')),
    cause          text CHECK (cause IN ('stranger', 'place', 'loss')),
    reason         text,
    since_at       text
);
INSERT INTO postino_database_state (id, alive_at) SELECT 1, max(alive_at) FROM postino_database_identity;

-- The eras before the present one. An era that is neither belongs to another branch of this database's history.
CREATE TABLE postino_database_eras (
    era      text PRIMARY KEY,
    ended_at text NOT NULL
) WITHOUT ROWID;

-- How many batches of intents each sending process has committed. The process keeps the same number outside.
CREATE TABLE postino_witnesses (
    id        text PRIMARY KEY,
    n         integer NOT NULL DEFAULT 0,
    lost_from integer,  -- later batches are lost, and the process has not entered them again; NULL: none
    mark      text,  -- of the last batch: tells a repetition from another process with the same id
    signed    text,  -- the place that it has checked in a roll call
    seen_at   text NOT NULL
) WITHOUT ROWID;

-- SQLite cannot change a constraint, so the table is made again.
CREATE TABLE postino_gates_new (
    scope        text NOT NULL CHECK (scope IN ('all', 'queue', 'channel', 'brand', 'account')),
    name         text NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('pause', 'token', 'cooldown', 'quota', 'database')),
    since_at     text NOT NULL,
    until_at     text NOT NULL,
    reason       text,
    repeat_count integer NOT NULL DEFAULT 1,
    PRIMARY KEY (scope, name, kind)
);
INSERT INTO postino_gates_new SELECT * FROM postino_gates;
DROP TABLE postino_gates;
ALTER TABLE postino_gates_new RENAME TO postino_gates;

DROP TABLE postino_database_identity;
