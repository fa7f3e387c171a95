CREATE SCHEMA IF NOT EXISTS postino;

-- Live jobs only: claims and settles stay fast whatever has finished. No unique key index here, because every update
-- would touch it; the keys have their own, insert-only table.
CREATE TABLE postino.jobs (
    id              uuid PRIMARY KEY,
    type            text NOT NULL,
    channel         text NOT NULL,
    queue           smallint NOT NULL CHECK (queue BETWEEN 0 AND 2),
    state           text NOT NULL CHECK (state IN ('pending', 'running', 'uncertain')),
    lane            text,
    account         text,
    brand           text,
    user_id         text,
    parent_id       uuid,
    correlation_id  text,
    idempotency_key text NOT NULL,
    payload         bytea NOT NULL,
    scheduled_at    timestamptz NOT NULL,
    run_at          timestamptz,
    attempts        int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    max_attempts    int CHECK (max_attempts > 0),
    backoff         text,
    time_limit      float8 CHECK (time_limit > 0),
    generation      int NOT NULL DEFAULT 1,
    rescues         int NOT NULL DEFAULT 0,
    deferrals       int NOT NULL DEFAULT 0,
    rate_limit_count         int NOT NULL DEFAULT 0,
    deferral_reason        text,
    may_be_live            boolean NOT NULL DEFAULT false,
    ignore_blackouts      boolean NOT NULL DEFAULT false,  -- of blackouts: a person said so
    lookup_at         timestamptz,  -- something may be out there: when the network may be asked; nothing in doubt has none
    remote_id       text,
    last_error      text,
    claimed_by      text,
    claimed_at      timestamptz,
    token           uuid,
    deadline_at     timestamptz,  -- past it the job is taken from its worker
    dispatched_at   timestamptz,
    created_at      timestamptz NOT NULL,
    -- The net under the rules: a pending job always has a time, a running one always an owner.
    CHECK (state <> 'pending' OR run_at IS NOT NULL),
    CHECK (isfinite(run_at)),
    CHECK ((state = 'running') = (token IS NOT NULL)),
    CHECK ((state = 'running') = (claimed_by IS NOT NULL)),
    CHECK ((state = 'running') = (claimed_at IS NOT NULL))
);
-- What a claim may take: pending jobs, and uncertain ones that are to be looked at again.
-- One range per (channel, queue): a range shared by queues would walk over the future jobs of one to reach another.
-- What an account has begun to send, or is to send in spite of a blackout, has a line of its own: fewer gates hold it up.
CREATE INDEX jobs_bulk ON postino.jobs (channel, queue, run_at) WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NULL;
CREATE INDEX jobs_lanes ON postino.jobs (channel, lane, queue, run_at, id) WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts;
CREATE INDEX jobs_begun ON postino.jobs (channel, run_at) WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND (may_be_live OR ignore_blackouts);
CREATE INDEX jobs_in_doubt ON postino.jobs (channel, lane) WHERE state = 'uncertain' AND lane IS NOT NULL;
CREATE INDEX jobs_busy ON postino.jobs (state, channel) WHERE state <> 'pending';
-- The net under the lanes: the database itself refuses a second running job of an account on a channel.
CREATE UNIQUE INDEX jobs_one_per_account ON postino.jobs (channel, lane) WHERE state = 'running' AND account IS NOT NULL;
CREATE INDEX jobs_children ON postino.jobs (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE postino.idempotency_keys (
    channel    text NOT NULL,
    key        text NOT NULL,
    job_id     uuid NOT NULL,
    PRIMARY KEY (channel, key)
);

CREATE TABLE postino.finished_jobs (
    id              uuid NOT NULL,
    type            text NOT NULL,
    channel         text NOT NULL,
    queue           smallint NOT NULL,
    state           text NOT NULL CHECK (state IN ('completed', 'failed', 'cancelled')),
    account         text,
    brand           text,
    user_id         text,
    parent_id       uuid,
    correlation_id  text,
    idempotency_key text NOT NULL,
    payload         bytea NOT NULL,
    scheduled_at    timestamptz NOT NULL,
    run_at          timestamptz,
    attempts        int NOT NULL,
    max_attempts    int,
    backoff         text,
    time_limit      float8,
    generation      int NOT NULL,
    rescues         int NOT NULL,
    deferrals       int NOT NULL,
    may_be_live            boolean NOT NULL,
    remote_id       text,
    result          text,
    last_error      text,
    claimed_by      text,
    claimed_at      timestamptz,
    token           uuid,  -- of the claim that ended it: a settle repeated after a lost answer finds itself here
    dispatched_at   timestamptz,
    created_at      timestamptz NOT NULL,
    finished_at     timestamptz NOT NULL,
    superseded      boolean NOT NULL DEFAULT false  -- replayed since: a later generation tells the rest
) PARTITION BY RANGE (finished_at);
CREATE INDEX finished_jobs_id ON postino.finished_jobs (id);
CREATE INDEX finished_jobs_children ON postino.finished_jobs (parent_id) WHERE parent_id IS NOT NULL;

-- Those that are never pruned, when their time among the others is over. Posts are such.
CREATE TABLE postino.archived_jobs (LIKE postino.finished_jobs INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
CREATE INDEX archived_jobs_id ON postino.archived_jobs (id);

CREATE TABLE postino.attempts (
    job_id      uuid NOT NULL,
    generation  int NOT NULL,
    number      int NOT NULL,
    started_at  timestamptz NOT NULL,
    ended_at    timestamptz NOT NULL,
    worker      text NOT NULL,
    outcome     text NOT NULL,
    error_class text,
    message     text,
    trace       text
) PARTITION BY RANGE (ended_at);
CREATE INDEX attempts_job ON postino.attempts (job_id);

-- The outbox. Rows are numbered before they commit, so a reader that went by seq alone would skip what commits late:
-- xid comes first, and readers stay below the oldest transaction still running.
CREATE SEQUENCE postino.events_seq;
CREATE TABLE postino.events (
    xid    xid8 NOT NULL DEFAULT pg_current_xact_id(),
    seq    bigint NOT NULL DEFAULT nextval('postino.events_seq'),
    at     timestamptz NOT NULL,
    type   text NOT NULL,
    job_id uuid,
    data   text NOT NULL DEFAULT '{}'
) PARTITION BY RANGE (at);
CREATE INDEX events_order ON postino.events (xid, seq);

-- Whole copies, because a dead letter is kept until a person resolves it and outlives the partitions above.
CREATE TABLE postino.dead_letters (
    id              uuid NOT NULL,
    generation      int NOT NULL,
    type            text NOT NULL,
    channel         text NOT NULL,
    queue           smallint NOT NULL,
    account         text,
    brand           text,
    user_id         text,
    parent_id       uuid,
    correlation_id  text,
    idempotency_key text NOT NULL,
    payload         bytea NOT NULL,
    scheduled_at    timestamptz NOT NULL,
    run_at          timestamptz,
    attempts        int NOT NULL,
    max_attempts    int,
    backoff         text,
    time_limit      float8,
    rescues         int NOT NULL,
    deferrals       int NOT NULL,
    may_be_live            boolean NOT NULL,
    remote_id       text,
    last_error      text,
    trace           text,
    created_at      timestamptz NOT NULL,
    died_at         timestamptz NOT NULL,
    cause           text NOT NULL CHECK (cause IN ('exhausted', 'permanent', 'poison', 'worker_killer', 'missed', 'given_up')),
    history         text NOT NULL,
    resolved_at     timestamptz,
    resolution      text CHECK (resolution IN ('replayed', 'discarded')),
    PRIMARY KEY (id, generation),
    CHECK ((resolved_at IS NULL) = (resolution IS NULL))
);
CREATE INDEX dead_letters_open ON postino.dead_letters (id DESC) WHERE resolved_at IS NULL;

-- Every channel that ever had a job. Not unique on purpose: a second row is harmless, and the wait on a unique index
-- would let one caller's open transaction block another's first job on a new channel.
CREATE TABLE postino.channels (channel text NOT NULL);

-- An account's (or brand's) line on a channel. Only claims lock it.
CREATE TABLE postino.lanes (
    channel text NOT NULL,
    lane    text NOT NULL,
    account text,
    PRIMARY KEY (channel, lane)
);
CREATE INDEX lanes_account ON postino.lanes (account);
-- When a lane next has something to do, per queue, and for which brand: that of its head. What is closed to its account
-- or brand is in it, so that a lane one may not claim from is in nobody's way, whatever its backlog.
-- May be too early, never too late; written under the lane's lock only.
CREATE TABLE postino.lane_due (
    channel text NOT NULL,
    lane    text NOT NULL,
    queue   smallint NOT NULL,
    due_at  timestamptz NOT NULL,
    brand   text NOT NULL,  -- '': none
    PRIMARY KEY (channel, lane, queue)
);
CREATE INDEX lane_due_order ON postino.lane_due (channel, queue, due_at);
CREATE INDEX lane_due_brand ON postino.lane_due (channel, queue, brand, due_at);
-- When each brand was last served on a channel: the one served least recently goes first.
CREATE TABLE postino.brand_turns (
    channel text NOT NULL,
    brand   text NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (channel, brand)
);
-- "Look at this lane again", inserted with every change that may have made it ready; claims fold them into lane_due.
-- Inserting locks nobody, so a caller's transaction may stay open as long as it likes.
CREATE TABLE postino.lane_hints (
    id      bigint GENERATED ALWAYS AS IDENTITY,
    channel text NOT NULL,
    lane    text NOT NULL,
    account text,
    low_priority    boolean NOT NULL DEFAULT false,  -- about a gate of many lanes: what is new goes before it
    PRIMARY KEY (low_priority, id)
);
CREATE INDEX lane_hints_lane ON postino.lane_hints (channel, lane);

-- Reasons not to run yet, each with a time; 9999 is until somebody opens it. Those that are over stay, and mean nothing.
CREATE TABLE postino.gates (
    scope    text NOT NULL CHECK (scope IN ('all', 'queue', 'channel', 'brand', 'account')),
    name     text NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('pause', 'token', 'cool_down', 'quota')),
    since_at timestamptz NOT NULL,
    until_at timestamptz NOT NULL,
    reason   text,
    repeat_count    int NOT NULL DEFAULT 1,  -- in a row: a network that asks again is left alone longer
    PRIMARY KEY (scope, name, kind)
);
-- At most so many of a channel at once: a person's word goes before the usual. Whoever counts locks the row.
CREATE TABLE postino.caps (
    channel text PRIMARY KEY,
    cap         int CHECK (cap >= 0),
    default_cap int CHECK (default_cap >= 0)
);

CREATE TABLE postino.workers (
    id         text PRIMARY KEY,
    host       text NOT NULL,
    pid        int NOT NULL,
    started_at timestamptz NOT NULL,
    heartbeats      bigint NOT NULL DEFAULT 0,
    suspect    uuid  -- of the jobs rescued before, the one it runs now: they run one at a time
);

CREATE TABLE postino.cursors (
    listener      text PRIMARY KEY,
    xid           xid8 NOT NULL DEFAULT '0',
    seq           bigint NOT NULL DEFAULT 0,
    holder        text,
    held_until_at timestamptz
);

-- Periodic work that any worker may do, but only one at a time.
CREATE TABLE postino.duties (
    duty          text PRIMARY KEY,
    holder        text,
    held_until_at timestamptz,
    done_at       timestamptz
);

CREATE TABLE postino.audit (
    seq     bigint PRIMARY KEY,
    at      timestamptz NOT NULL,
    actor   text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    reason  text NOT NULL,
    detail  text NOT NULL,
    hash    text NOT NULL
);

-- Weekly partitions, made ahead: a missing one would stop every settle. Made apart and then attached, because
-- CREATE TABLE … PARTITION OF locks out every reader and writer of the parent.
CREATE FUNCTION postino.make_partitions(weeks int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    monday timestamptz;
    parent text;
    child  text;
    made   int := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('postino.make_partitions'));
    FOREACH parent IN ARRAY ARRAY['finished_jobs', 'attempts', 'events'] LOOP
        FOR week IN -1 .. weeks LOOP
            monday := (date_trunc('week', now() AT TIME ZONE 'UTC') + week * interval '7 days') AT TIME ZONE 'UTC';
            child := parent || '_' || to_char(monday AT TIME ZONE 'UTC', 'YYYYMMDD');
            CONTINUE WHEN to_regclass('postino.' || child) IS NOT NULL;
            EXECUTE format('CREATE TABLE postino.%I (LIKE postino.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', child, parent);
            EXECUTE format('ALTER TABLE postino.%I ATTACH PARTITION postino.%I FOR VALUES FROM (%L) TO (%L)',
                           parent, child, monday, monday + interval '7 days');
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
SELECT postino.make_partitions(9);

-- Whole weeks go at once, never row by row. Waits for nobody: a lock that is not to be had is tried for another day.
CREATE FUNCTION postino.drop_partitions(parent text, before timestamptz) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    child   text;
    dropped int := 0;
BEGIN
    FOR child IN
        SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = ('postino.' || parent)::regclass
          -- (Not by position: the planner may look at the names of other tables first.)
          AND to_timestamp(substring(relname FROM '_(\d{8})$'), 'YYYYMMDD') + interval '8 days' <= before
    LOOP
        EXECUTE format('DROP TABLE postino.%I', child);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;

-- A payload is bytes, whatever they are; people read text.
CREATE FUNCTION postino.readable(payload bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN convert_from(payload, 'UTF8');
EXCEPTION WHEN OTHERS THEN
    RETURN encode(payload, 'escape');
END
$$;

-- Every job, live and finished, as the store reads it.
CREATE VIEW postino.stored_jobs AS
SELECT id, type, channel, account, brand, user_id,
       (ARRAY['high', 'default', 'low'])[queue + 1] AS queue, state, scheduled_at, run_at,
       attempts, max_attempts, idempotency_key, payload, remote_id, parent_id, correlation_id,
       last_error, deferral_reason, created_at, claimed_by, claimed_at, dispatched_at, NULL::timestamptz AS finished_at,
       NULL::text AS result, generation, rescues, deferrals, may_be_live, lookup_at, backoff, time_limit, token, ignore_blackouts, rate_limit_count
FROM postino.jobs
UNION ALL
SELECT id, type, channel, account, brand, user_id,
       (ARRAY['high', 'default', 'low'])[queue + 1], state, scheduled_at, run_at,
       attempts, max_attempts, idempotency_key, payload, remote_id, parent_id, correlation_id,
       last_error, NULL, created_at, claimed_by, claimed_at, dispatched_at, finished_at,
       result, generation, rescues, deferrals, may_be_live, NULL, backoff, time_limit, NULL, false, 0
FROM postino.finished_jobs
WHERE NOT superseded
UNION ALL
SELECT id, type, channel, account, brand, user_id,
       (ARRAY['high', 'default', 'low'])[queue + 1], state, scheduled_at, run_at,
       attempts, max_attempts, idempotency_key, payload, remote_id, parent_id, correlation_id,
       last_error, NULL, created_at, claimed_by, claimed_at, dispatched_at, finished_at,
       result, generation, rescues, deferrals, may_be_live, NULL, backoff, time_limit, NULL, false, 0
FROM postino.archived_jobs
WHERE NOT superseded;

-- The same for people and plain SQL: a payload is bytes, whatever they are; people read text.
CREATE VIEW postino.all_jobs AS
SELECT id, type, channel, account, brand, user_id, queue, state, scheduled_at, run_at, attempts, max_attempts,
       idempotency_key, postino.readable(payload) AS payload,
       remote_id, parent_id, correlation_id, last_error, deferral_reason, created_at, claimed_by, claimed_at, dispatched_at,
       finished_at, result, generation, rescues, deferrals, may_be_live, lookup_at, backoff, time_limit, token, ignore_blackouts, rate_limit_count, payload AS payload_bytes
FROM postino.stored_jobs;

-- Every try. The one that completed a job is its finished row; without a token it was a person's word, and has its line.
CREATE VIEW postino.all_attempts AS
SELECT job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message, trace
FROM postino.attempts
UNION ALL
SELECT id, generation, attempts, claimed_at, finished_at, claimed_by, state, NULL, NULL, NULL
FROM postino.finished_jobs
WHERE state = 'completed' AND token IS NOT NULL;
