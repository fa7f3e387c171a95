-- What tells a restored, copied or failed-over database from one that was only unused. `database_identity` compared
-- clocks; these tables compare numbers with those that every sending process remembers outside the database.

-- One row: which database this is, where it was when last adopted, and whether workers may send.
CREATE TABLE postino.database_state (
    id             int PRIMARY KEY CHECK (id = 1),
    installation   text,  -- NULL, like era and place: no worker has used the database yet
    era            text,  -- new with each answer of a person
    place          text,
    pulse          bigint NOT NULL DEFAULT 0,  -- + 1 every 30 seconds while a worker vouches for the database
    alive_at       timestamptz,  -- when the pulse last changed
    answered_pulse bigint,  -- the pulse at the last answer: until it changes, that answer vouches for the database
    standing       text NOT NULL DEFAULT 'open' CHECK (standing IN ('open', 'roll_call', 'asked', 'copy')),
    cause          text CHECK (cause IN ('stranger', 'place', 'loss')),
    reason         text,
    since_at       timestamptz
);
INSERT INTO postino.database_state (id, alive_at) SELECT 1, max(alive_at) FROM postino.database_identity;

-- The eras before the present one. An era that is neither belongs to another branch of this database's history.
CREATE TABLE postino.database_eras (
    era      text PRIMARY KEY,
    ended_at timestamptz NOT NULL
);

-- How many batches of intents each sending process has committed. The process keeps the same number outside.
CREATE TABLE postino.witnesses (
    id        text PRIMARY KEY,
    n         bigint NOT NULL DEFAULT 0,
    lost_from bigint,  -- later batches are lost, and the process has not entered them again; NULL: none
    mark      text,  -- of the last batch: tells a repetition from another process with the same id
    signed    text,  -- the place that it has checked in a roll call
    seen_at   timestamptz NOT NULL
);

-- Where this database is: cluster, timeline and database. `pg_control_checkpoint` would return the timeline of the last
-- checkpoint, which for minutes after a promotion is the former one.
CREATE FUNCTION postino.locate() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT json_build_array('postgres', system_identifier::text, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                            (SELECT oid::text FROM pg_database WHERE datname = current_database()))::text
    FROM pg_control_system()
$$;

ALTER TABLE postino.gates DROP CONSTRAINT gates_kind_check;
ALTER TABLE postino.gates
    ADD CONSTRAINT gates_kind_check CHECK (kind IN ('pause', 'token', 'cooldown', 'quota', 'database'));

DROP TABLE postino.database_identity;
