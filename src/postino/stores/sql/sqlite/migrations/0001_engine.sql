-- Instants are texts like 2026-03-29T01:30:00.000000Z: they sort as they follow each other, and people can read them.

-- Live jobs only: claims and settles stay fast whatever has finished. No unique key index here, because every update
-- would touch it; the keys have their own, insert-only table.
CREATE TABLE postino_jobs (
    id              text PRIMARY KEY,
    type            text NOT NULL,
    channel         text NOT NULL,
    queue           integer NOT NULL CHECK (queue BETWEEN 0 AND 2),
    state           text NOT NULL CHECK (state IN ('pending', 'running', 'uncertain')),
    lane            text,
    account         text,
    brand           text,
    user_id         text,
    parent_id       text,
    correlation_id  text,
    idempotency_key text NOT NULL,
    payload         blob NOT NULL,
    scheduled_at    text NOT NULL,
    run_at          text,
    attempts        integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    max_attempts    integer CHECK (max_attempts > 0),
    backoff         text,
    time_limit      real CHECK (time_limit > 0),
    generation      integer NOT NULL DEFAULT 1,
    rescues         integer NOT NULL DEFAULT 0,
    deferrals       integer NOT NULL DEFAULT 0,
    rate_limit_count         integer NOT NULL DEFAULT 0,
    deferral_reason        text,
    may_be_live            integer NOT NULL DEFAULT 0,
    ignore_blackouts      integer NOT NULL DEFAULT 0,  -- of blackouts: a person said so
    lookup_at         text,  -- something may be out there: when the network may be asked; nothing in doubt has none
    remote_id       text,
    last_error      text,
    claimed_by      text,
    claimed_at      text,
    token           text,
    deadline_at     text,  -- past it the job is taken from its worker
    dispatched_at   text,
    created_at      text NOT NULL,
    -- The net under the rules: a pending job always has a time, a running one always an owner.
    CHECK (state <> 'pending' OR run_at IS NOT NULL),
    CHECK ((state = 'running') = (token IS NOT NULL)),
    CHECK ((state = 'running') = (claimed_by IS NOT NULL)),
    CHECK ((state = 'running') = (claimed_at IS NOT NULL))
);
-- What a claim may take: pending jobs, and uncertain ones that are to be looked at again.
-- One range per (channel, queue): a range shared by queues would walk over the future jobs of one to reach another.
-- What an account has begun to send, or is to send in spite of a blackout, has a line of its own: fewer gates hold it up.
CREATE INDEX postino_jobs_bulk ON postino_jobs (channel, queue, run_at) WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NULL;
CREATE INDEX postino_jobs_lanes ON postino_jobs (channel, lane, queue, run_at, id) WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts;
CREATE INDEX postino_jobs_begun ON postino_jobs (channel, run_at) WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND (may_be_live OR ignore_blackouts);
CREATE INDEX postino_jobs_in_doubt ON postino_jobs (channel, lane) WHERE state = 'uncertain';
CREATE INDEX postino_jobs_running ON postino_jobs (channel) WHERE state = 'running';
-- The net under the lanes: the database itself refuses a second running job of an account on a channel.
CREATE UNIQUE INDEX postino_jobs_one_per_account ON postino_jobs (channel, lane) WHERE state = 'running' AND account IS NOT NULL;
CREATE INDEX postino_jobs_uncertain ON postino_jobs (id) WHERE state = 'uncertain';
CREATE INDEX postino_jobs_children ON postino_jobs (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE postino_idempotency_keys (
    channel    text NOT NULL,
    key        text NOT NULL,
    job_id     text NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;

CREATE TABLE postino_finished_jobs (
    id              text NOT NULL,
    type            text NOT NULL,
    channel         text NOT NULL,
    queue           integer NOT NULL,
    state           text NOT NULL CHECK (state IN ('completed', 'failed', 'cancelled')),
    account         text,
    brand           text,
    user_id         text,
    parent_id       text,
    correlation_id  text,
    idempotency_key text NOT NULL,
    payload         blob NOT NULL,
    scheduled_at    text NOT NULL,
    run_at          text,
    attempts        integer NOT NULL,
    max_attempts    integer,
    backoff         text,
    time_limit      real,
    generation      integer NOT NULL,
    rescues         integer NOT NULL,
    deferrals       integer NOT NULL,
    may_be_live            integer NOT NULL,
    remote_id       text,
    result          text,
    last_error      text,
    claimed_by      text,
    claimed_at      text,
    token           text,  -- of the claim that ended it: a settle repeated after a lost answer finds itself here
    dispatched_at   text,
    created_at      text NOT NULL,
    finished_at     text NOT NULL,
    superseded      integer NOT NULL DEFAULT 0  -- replayed since: a later generation tells the rest
);
CREATE INDEX postino_finished_jobs_id ON postino_finished_jobs (id);
CREATE INDEX postino_finished_jobs_when ON postino_finished_jobs (finished_at);
CREATE INDEX postino_finished_jobs_children ON postino_finished_jobs (parent_id) WHERE parent_id IS NOT NULL;

-- Those that are never pruned, when their time among the others is over. Posts are such.
CREATE TABLE postino_archived_jobs AS SELECT * FROM postino_finished_jobs WHERE 0;
CREATE INDEX postino_archived_jobs_id ON postino_archived_jobs (id);

CREATE TABLE postino_attempts (
    job_id      text NOT NULL,
    generation  integer NOT NULL,
    number      integer NOT NULL,
    started_at  text NOT NULL,
    ended_at    text NOT NULL,
    worker      text NOT NULL,
    outcome     text NOT NULL,
    error_class text,
    message     text,
    trace       text
);
CREATE INDEX postino_attempts_job ON postino_attempts (job_id);
CREATE INDEX postino_attempts_when ON postino_attempts (ended_at);

-- The outbox. There is one writer, so the order of the numbers is the order of the commits.
CREATE TABLE postino_events (
    seq    integer PRIMARY KEY AUTOINCREMENT,
    at     text NOT NULL,
    type   text NOT NULL,
    job_id text,
    data   text NOT NULL DEFAULT '{}'
);

-- Whole copies, because a dead letter is kept until a person resolves it and outlives the tables above.
CREATE TABLE postino_dead_letters (
    id              text NOT NULL,
    generation      integer NOT NULL,
    type            text NOT NULL,
    channel         text NOT NULL,
    queue           integer NOT NULL,
    account         text,
    brand           text,
    user_id         text,
    parent_id       text,
    correlation_id  text,
    idempotency_key text NOT NULL,
    payload         blob NOT NULL,
    scheduled_at    text NOT NULL,
    run_at          text,
    attempts        integer NOT NULL,
    max_attempts    integer,
    backoff         text,
    time_limit      real,
    rescues         integer NOT NULL,
    deferrals       integer NOT NULL,
    may_be_live            integer NOT NULL,
    remote_id       text,
    last_error      text,
    trace           text,
    created_at      text NOT NULL,
    died_at         text NOT NULL,
    cause           text NOT NULL CHECK (cause IN ('exhausted', 'permanent', 'poison', 'worker_killer', 'missed', 'given_up')),
    history         text NOT NULL,
    resolved_at     text,
    resolution      text CHECK (resolution IN ('replayed', 'discarded')),
    PRIMARY KEY (id, generation),
    CHECK ((resolved_at IS NULL) = (resolution IS NULL))
);
CREATE INDEX postino_dead_letters_open ON postino_dead_letters (id DESC) WHERE resolved_at IS NULL;

-- Every channel that ever had a job.
CREATE TABLE postino_channels (channel text PRIMARY KEY) WITHOUT ROWID;

-- An account's (or brand's) line on a channel.
CREATE TABLE postino_lanes (
    channel text NOT NULL,
    lane    text NOT NULL,
    account text,
    PRIMARY KEY (channel, lane)
);
CREATE INDEX postino_lanes_account ON postino_lanes (account);
-- When a lane next has something to do, per queue, and for which brand: that of its head. What is closed to its account
-- or brand is in it, so that a lane one may not claim from is in nobody's way, whatever its backlog.
-- May be too early, never too late.
CREATE TABLE postino_lane_due (
    channel text NOT NULL,
    lane    text NOT NULL,
    queue   integer NOT NULL,
    due_at  text NOT NULL,
    brand   text NOT NULL,  -- '': none
    PRIMARY KEY (channel, lane, queue)
);
CREATE INDEX postino_lane_due_order ON postino_lane_due (channel, queue, due_at);
CREATE INDEX postino_lane_due_brand ON postino_lane_due (channel, queue, brand, due_at);
-- When each brand was last served on a channel: the one served least recently goes first.
CREATE TABLE postino_brand_turns (
    channel text NOT NULL,
    brand   text NOT NULL,
    at      text NOT NULL,
    PRIMARY KEY (channel, brand)
) WITHOUT ROWID;
-- "Look at this lane again", inserted with every change that may have made it ready; claims fold them into lane_due.
CREATE TABLE postino_lane_hints (
    id      integer PRIMARY KEY,
    channel text NOT NULL,
    lane    text NOT NULL,
    account text,
    low_priority    int NOT NULL DEFAULT 0  -- about a gate of many lanes: what is new goes before it
);
CREATE INDEX postino_lane_hints_lane ON postino_lane_hints (channel, lane);
CREATE INDEX postino_lane_hints_order ON postino_lane_hints (low_priority, id);

-- Reasons not to run yet, each with a time; 9999 is until somebody opens it. Those that are over stay, and mean nothing.
CREATE TABLE postino_gates (
    scope    text NOT NULL CHECK (scope IN ('all', 'queue', 'channel', 'brand', 'account')),
    name     text NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('pause', 'token', 'cool_down', 'quota')),
    since_at text NOT NULL,
    until_at text NOT NULL,
    reason   text,
    repeat_count    integer NOT NULL DEFAULT 1,  -- in a row: a network that asks again is left alone longer
    PRIMARY KEY (scope, name, kind)
);
-- At most so many of a channel at once: a person's word goes before the usual.
CREATE TABLE postino_caps (
    channel text PRIMARY KEY,
    cap         integer CHECK (cap >= 0),
    default_cap integer CHECK (default_cap >= 0)
);

CREATE TABLE postino_workers (
    id         text PRIMARY KEY,
    host       text NOT NULL,
    pid        integer NOT NULL,
    started_at text NOT NULL,
    heartbeats      integer NOT NULL DEFAULT 0,
    suspect    text  -- of the jobs rescued before, the one it runs now: they run one at a time
);

CREATE TABLE postino_cursors (
    listener      text PRIMARY KEY,
    seq           integer NOT NULL DEFAULT 0,
    holder        text,
    held_until_at text
);

-- Periodic work that any worker may do, but only one at a time.
CREATE TABLE postino_duties (
    duty          text PRIMARY KEY,
    holder        text,
    held_until_at text,
    done_at       text
);

CREATE TABLE postino_audit (
    seq     integer PRIMARY KEY,
    at      text NOT NULL,
    actor   text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    reason  text NOT NULL,
    detail  text NOT NULL,
    hash    text NOT NULL
);

-- Every job, live and finished, as the store reads it.
CREATE VIEW postino_stored_jobs AS
SELECT id, type, channel, account, brand, user_id,
       CASE queue WHEN 0 THEN 'high' WHEN 1 THEN 'default' ELSE 'low' END AS queue, state, scheduled_at, run_at,
       attempts, max_attempts, idempotency_key, payload, remote_id, parent_id, correlation_id,
       last_error, deferral_reason, created_at, claimed_by, claimed_at, dispatched_at, NULL AS finished_at,
       NULL AS result, generation, rescues, deferrals, may_be_live, lookup_at, backoff, time_limit, token, ignore_blackouts, rate_limit_count
FROM postino_jobs
UNION ALL
SELECT id, type, channel, account, brand, user_id,
       CASE queue WHEN 0 THEN 'high' WHEN 1 THEN 'default' ELSE 'low' END, state, scheduled_at, run_at,
       attempts, max_attempts, idempotency_key, payload, remote_id, parent_id, correlation_id,
       last_error, NULL, created_at, claimed_by, claimed_at, dispatched_at, finished_at,
       result, generation, rescues, deferrals, may_be_live, NULL, backoff, time_limit, NULL, 0, 0
FROM postino_finished_jobs
WHERE NOT superseded
UNION ALL
SELECT id, type, channel, account, brand, user_id,
       CASE queue WHEN 0 THEN 'high' WHEN 1 THEN 'default' ELSE 'low' END, state, scheduled_at, run_at,
       attempts, max_attempts, idempotency_key, payload, remote_id, parent_id, correlation_id,
       last_error, NULL, created_at, claimed_by, claimed_at, dispatched_at, finished_at,
       result, generation, rescues, deferrals, may_be_live, NULL, backoff, time_limit, NULL, 0, 0
FROM postino_archived_jobs
WHERE NOT superseded;

-- The same for people and plain SQL: a payload is bytes, whatever they are; people read text.
CREATE VIEW postino_all_jobs AS
SELECT id, type, channel, account, brand, user_id, queue, state, scheduled_at, run_at, attempts, max_attempts,
       idempotency_key, CASE WHEN json_valid(CAST(payload AS text)) THEN CAST(payload AS text) ELSE quote(payload) END AS payload,
       remote_id, parent_id, correlation_id, last_error, deferral_reason, created_at, claimed_by, claimed_at, dispatched_at,
       finished_at, result, generation, rescues, deferrals, may_be_live, lookup_at, backoff, time_limit, token, ignore_blackouts, rate_limit_count, payload AS payload_bytes
FROM postino_stored_jobs;

-- Every try. The one that completed a job is its finished row; without a token it was a person's word, and has its line.
CREATE VIEW postino_all_attempts AS
SELECT job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message, trace
FROM postino_attempts
UNION ALL
SELECT id, generation, attempts, claimed_at, finished_at, claimed_by, state, NULL, NULL, NULL
FROM postino_finished_jobs
WHERE state = 'completed' AND token IS NOT NULL;
