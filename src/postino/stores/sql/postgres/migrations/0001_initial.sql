-- The whole schema: tables with their indexes, then functions and views, then triggers.
-- Instants end in _at. A job's id is chosen by the caller, a UUIDv7, so that ids sort by age.
CREATE SCHEMA IF NOT EXISTS postino;

-- Jobs

-- Live jobs only, so that claims and settles stay fast whatever has finished. Idempotency keys are in a table of their
-- own: every update of a job would touch a unique index here.
CREATE TABLE postino.jobs (
    id               uuid PRIMARY KEY,
    type             text NOT NULL,
    channel          text NOT NULL,
    queue            smallint NOT NULL CHECK (queue BETWEEN 0 AND 2),
    state            text NOT NULL CHECK (state IN ('pending', 'running', 'uncertain')),
    lane             text,
    account          text,
    brand            text,
    user_id          text,
    parent_id        uuid,
    correlation_id   text,
    idempotency_key  text NOT NULL,
    payload          bytea NOT NULL,
    scheduled_at     timestamptz NOT NULL,
    run_at           timestamptz,  -- NULL: uncertain, and waiting for a person
    attempts         int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    max_attempts     int CHECK (max_attempts > 0),
    backoff          text,
    time_limit       float8 CHECK (time_limit > 0),
    generation       int NOT NULL DEFAULT 1,
    rescues          int NOT NULL DEFAULT 0,
    deferrals        int NOT NULL DEFAULT 0,
    rate_limit_count int NOT NULL DEFAULT 0,
    deferral_reason  text,
    may_be_live      boolean NOT NULL DEFAULT false,  -- a visible call was sent: the network may have the post
    ignore_blackouts boolean NOT NULL DEFAULT false,
    lookup_at        timestamptz,  -- a visible call is in doubt: when the network may be asked about it
    remote_id        text,
    last_error       text,
    claimed_by       text,
    claimed_at       timestamptz,
    token            uuid,
    deadline_at      timestamptz,  -- after it, any worker may rescue the job
    dispatched_at    timestamptz,
    created_at       timestamptz NOT NULL,
    -- These back up the rules: a pending job always has a time, a running job always has an owner.
    CHECK (state <> 'pending' OR run_at IS NOT NULL),
    CHECK (isfinite(run_at)),
    CHECK ((state = 'running') = (token IS NOT NULL)),
    CHECK ((state = 'running') = (claimed_by IS NOT NULL)),
    CHECK ((state = 'running') = (claimed_at IS NOT NULL))
);
-- A claim takes pending jobs, and uncertain ones that are due for a lookup, through one of these three indexes.
-- One range per (channel, queue): a range shared by queues would pass the future jobs of one to reach another.
CREATE INDEX jobs_bulk ON postino.jobs (channel, queue, run_at)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NULL;
CREATE INDEX jobs_lanes ON postino.jobs (channel, lane, queue, run_at, id)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts;
-- Fewer gates hold these up, so they do not wait behind the others of their lane.
CREATE INDEX jobs_started ON postino.jobs (channel, run_at)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND (may_be_live OR ignore_blackouts);
CREATE INDEX jobs_uncertain_lanes ON postino.jobs (channel, lane) WHERE state = 'uncertain' AND lane IS NOT NULL;
CREATE INDEX jobs_busy ON postino.jobs (state, channel) WHERE state <> 'pending';
-- This backs up the lanes: PostgreSQL refuses a second running job of one account on one channel.
CREATE UNIQUE INDEX jobs_one_per_account ON postino.jobs (channel, lane)
    WHERE state = 'running' AND account IS NOT NULL;
CREATE INDEX jobs_children ON postino.jobs (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX jobs_brand ON postino.jobs (brand, id) WHERE brand IS NOT NULL;

-- The job that each idempotency key belongs to, for ever. Rows are only inserted.
CREATE TABLE postino.idempotency_keys (
    channel text NOT NULL,
    key     text NOT NULL,
    job_id  uuid NOT NULL,
    PRIMARY KEY (channel, key)
);

-- Completed, failed and cancelled jobs, in weekly partitions that are dropped as a whole.
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
    may_be_live     boolean NOT NULL,
    remote_id       text,
    result          text,
    last_error      text,
    claimed_by      text,
    claimed_at      timestamptz,
    token           uuid,  -- of the claim that ended it: a settle repeated after a lost response finds it here
    dispatched_at   timestamptz,
    created_at      timestamptz NOT NULL,
    finished_at     timestamptz NOT NULL,
    superseded      boolean NOT NULL DEFAULT false  -- replayed: a later generation has replaced this row
) PARTITION BY RANGE (finished_at);
CREATE INDEX finished_jobs_id ON postino.finished_jobs (id);
CREATE INDEX finished_jobs_children ON postino.finished_jobs (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX finished_jobs_posts ON postino.finished_jobs (finished_at) WHERE type = 'postino.post';
CREATE INDEX finished_jobs_brand ON postino.finished_jobs (brand, id) INCLUDE (state, type)
    WHERE brand IS NOT NULL AND NOT superseded;

-- Finished posts, moved here before their partition is dropped: posts are never pruned.
CREATE TABLE postino.archived_jobs (LIKE postino.finished_jobs INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
CREATE INDEX archived_jobs_id ON postino.archived_jobs (id);
CREATE INDEX archived_jobs_brand ON postino.archived_jobs (brand, id) WHERE brand IS NOT NULL;

-- Every attempt except the one that completed a job: that one is the job's row in finished_jobs.
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

-- Whole copies of failed jobs, because a dead letter stays until a person resolves it and outlives the partitions.
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
    may_be_live     boolean NOT NULL,
    remote_id       text,
    last_error      text,
    trace           text,
    created_at      timestamptz NOT NULL,
    died_at         timestamptz NOT NULL,
    cause           text NOT NULL
                    CHECK (cause IN ('exhausted', 'permanent', 'poison', 'worker_killer', 'missed', 'given_up')),
    history         text NOT NULL,
    resolved_at     timestamptz,
    resolution      text CHECK (resolution IN ('replayed', 'discarded')),
    PRIMARY KEY (id, generation),
    CHECK ((resolved_at IS NULL) = (resolution IS NULL))
);
CREATE INDEX dead_letters_open ON postino.dead_letters (id DESC) WHERE resolved_at IS NULL;
CREATE INDEX dead_letters_brand ON postino.dead_letters (brand, id) WHERE brand IS NOT NULL;

-- Channels and lanes

-- Every channel that ever had a job. Not unique on purpose: a second row is harmless, and waiting for a unique index
-- would let one caller's open transaction block another's first job on a new channel.
CREATE TABLE postino.channels (channel text NOT NULL);

-- The waiting line of one account, or one brand, on a channel. Only claims lock it.
CREATE TABLE postino.lanes (
    channel text NOT NULL,
    lane    text NOT NULL,
    account text,
    PRIMARY KEY (channel, lane)
);
CREATE INDEX lanes_account ON postino.lanes (account);

-- When a lane next has something to do, per queue, and the brand of the job at its head. Gates of its account and
-- brand are counted in, so that a closed lane costs others nothing, whatever its backlog. The time may be too early,
-- never too late. Written under the lane's lock only.
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

-- "Look at this lane again": inserted with every change that may have made a lane ready, folded into lane_due by
-- claims. An insert locks nobody, so a caller's transaction may stay open as long as it likes.
CREATE TABLE postino.lane_hints (
    id           bigint GENERATED ALWAYS AS IDENTITY,
    channel      text NOT NULL,
    lane         text NOT NULL,
    account      text,
    low_priority boolean NOT NULL DEFAULT false,  -- from a gate of many lanes: hints of new jobs go first
    PRIMARY KEY (low_priority, id)
);
CREATE INDEX lane_hints_lane ON postino.lane_hints (channel, lane);

-- When each brand last had its turn on a channel: the one whose turn is longest ago goes first.
CREATE TABLE postino.brand_turns (
    channel text NOT NULL,
    brand   text NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (channel, brand)
);

-- Gates

-- Reasons not to run yet, each until a time; year 9999 means until somebody opens it. Expired gates stay and mean
-- nothing.
CREATE TABLE postino.gates (
    scope        text NOT NULL CHECK (scope IN ('all', 'queue', 'channel', 'brand', 'account')),
    name         text NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('pause', 'token', 'cooldown', 'quota')),
    since_at     timestamptz NOT NULL,
    until_at     timestamptz NOT NULL,
    reason       text,
    repeat_count int NOT NULL DEFAULT 1,  -- in a row: each repeated rate limit closes the gate for longer
    PRIMARY KEY (scope, name, kind)
);

-- How many jobs of a channel may run at once. `cap` is set by a person and goes before `default_cap`. A claim that
-- counts running jobs locks the row.
CREATE TABLE postino.caps (
    channel     text PRIMARY KEY,
    cap         int CHECK (cap >= 0),
    default_cap int CHECK (default_cap >= 0)
);

-- The circuit breaker of each service. A service that never failed has no row.
CREATE TABLE postino.circuits (
    service            text PRIMARY KEY,
    state              text NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    since_at           timestamptz,
    until_at           timestamptz,
    unhealthy_since_at timestamptz,  -- NULL: closed
    failures           text NOT NULL,  -- their times, as JSON
    trips              int NOT NULL,
    probes             int NOT NULL,
    reason             text,
    manual             boolean NOT NULL
);

-- Windows of local time in which nothing is published.
CREATE TABLE postino.blackouts (
    id         uuid PRIMARY KEY,
    definition text NOT NULL,  -- as JSON
    configured boolean NOT NULL DEFAULT false,  -- from the settings, not from a person
    created_at timestamptz NOT NULL
);

-- What each call used of the network's quotas: reserved before the call, released if it was never sent.
CREATE TABLE postino.quota_usage (
    job_id  uuid NOT NULL,
    step    text NOT NULL,
    number  int NOT NULL,
    channel text NOT NULL,
    account text NOT NULL,
    quota   text NOT NULL,
    cost    int NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (job_id, step, number, quota)
);
CREATE INDEX quota_usage_recent ON postino.quota_usage (channel, quota, account, at);

-- The ledger. It is not tied to the tables of jobs: a job moves from one to another, and what it sent stays sent.

-- Results of inert steps, which may be repeated, until the job is edited.
CREATE TABLE postino.steps (
    job_id   uuid NOT NULL,
    name     text NOT NULL,
    position int NOT NULL,
    asked_at timestamptz NOT NULL,
    done_at  timestamptz,
    result   text,
    PRIMARY KEY (job_id, name)
);

-- Visible calls, committed just before they are sent. Never changed.
CREATE TABLE postino.intents (
    job_id         uuid NOT NULL,
    step           text NOT NULL,
    number         int NOT NULL,
    position       int NOT NULL,
    token          uuid NOT NULL,
    intended_at    timestamptz NOT NULL,
    send_before_at timestamptz NOT NULL,
    lookup_at      timestamptz NOT NULL,
    PRIMARY KEY (job_id, step, number)
);

-- What became of intents: facts, accepted from anyone at any time, never changed. One intent may have several; two
-- different remote ids for one step raise an alarm.
CREATE TABLE postino.receipts (
    job_id    uuid NOT NULL,
    step      text NOT NULL,
    number    int NOT NULL,
    verdict   text NOT NULL CHECK (verdict IN ('accepted', 'refused')),
    remote_id text NOT NULL DEFAULT '',
    url       text,
    data      text NOT NULL DEFAULT '{}',
    why       text,
    source    text NOT NULL CHECK (source IN ('call', 'lookup', 'person')),
    at        timestamptz NOT NULL,
    PRIMARY KEY (job_id, step, number, verdict, remote_id),
    CHECK ((verdict = 'accepted') = (remote_id <> ''))
);

-- The job that each remote post belongs to, for ever: none belongs to two.
CREATE TABLE postino.remote_ids (
    channel   text NOT NULL,
    account   text NOT NULL,
    remote_id text NOT NULL,
    job_id    uuid NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (channel, account, remote_id)
);

-- One row: which database this is and when a worker last used it. A copy or a restored backup differs, and does not
-- know what was sent since.
CREATE TABLE postino.database_identity (
    id       int PRIMARY KEY CHECK (id = 1),
    identity text NOT NULL,
    alive_at timestamptz NOT NULL
);

-- Posts. None of these is pruned, except drafts and imports.

CREATE TABLE postino.accounts (
    id         text PRIMARY KEY,
    network    text NOT NULL,
    handle     text NOT NULL,
    base_url   text NOT NULL,
    brand      text,
    remote_id  text,
    state      text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'token_expired', 'suspended', 'paused')),
    reason     text,
    sealed     bytea NOT NULL,  -- the credentials, encrypted
    created_at timestamptz NOT NULL
);

-- What people wrote, once for all accounts.
CREATE TABLE postino.contents (
    id          uuid PRIMARY KEY,
    text        text NOT NULL,
    search_text text NOT NULL DEFAULT '',  -- all its words, in one case
    brand       text,
    user_id     text,
    version     int NOT NULL,
    created_at  timestamptz NOT NULL
);

-- One content on one account. A post's id is its job's id. Lists and the calendar find posts by brand, scheduled_at
-- and phase; triggers on jobs and finished_jobs keep these true in the transaction that changes the job.
CREATE TABLE postino.posts (
    id               uuid PRIMARY KEY,
    content_id       uuid NOT NULL,
    network          text NOT NULL,
    account          text NOT NULL,
    brand            text,
    fingerprint      text NOT NULL,
    scheduled_at     timestamptz,
    publish_until_at timestamptz,
    phase            text NOT NULL DEFAULT 'live' CHECK (phase IN ('live', 'completed', 'failed', 'cancelled')),
    created_at       timestamptz NOT NULL
);
CREATE INDEX posts_content ON postino.posts (content_id);
CREATE INDEX posts_duplicates ON postino.posts (account, fingerprint, created_at);
CREATE INDEX posts_until ON postino.posts (publish_until_at) WHERE publish_until_at IS NOT NULL;
CREATE INDEX posts_account ON postino.posts (account, phase, id);
CREATE INDEX posts_brand ON postino.posts (brand, phase, id);
CREATE INDEX posts_network ON postino.posts (network, phase, id);
CREATE INDEX posts_phase ON postino.posts (phase, id);
CREATE INDEX posts_time ON postino.posts (scheduled_at, id);
CREATE INDEX posts_account_time ON postino.posts (account, scheduled_at, id);
CREATE INDEX posts_brand_time ON postino.posts (brand, scheduled_at, id);

-- Requests for posts that nobody has made yet. Removed when the posts are made.
CREATE TABLE postino.drafts (
    id         uuid PRIMARY KEY,
    brand      text,
    author     text NOT NULL,
    body       text NOT NULL,  -- the request, as JSON
    version    int NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);
CREATE INDEX drafts_brand ON postino.drafts (brand, id);

-- Files of posts: checked first, then saved row by row.
CREATE TABLE postino.imports (
    id             uuid PRIMARY KEY,
    caller         text NOT NULL,
    author         text NOT NULL,
    state          text NOT NULL CHECK (state IN ('checked', 'saving', 'saved')),
    token          text NOT NULL,
    file           bytea NOT NULL,
    timezone       text,
    rows           int NOT NULL,
    processed_rows int NOT NULL DEFAULT 0,  -- rows that were saved, existed already or were refused
    created        int NOT NULL DEFAULT 0,  -- posts
    existing       int NOT NULL DEFAULT 0,  -- posts that existed before
    problems       text NOT NULL,  -- as JSON
    created_at     timestamptz NOT NULL,
    changed_at     timestamptz NOT NULL
);
CREATE UNIQUE INDEX imports_token ON postino.imports (caller, token);

-- The response to each request with an Idempotency-Key, for ever: written with what the request made.
CREATE TABLE postino.stored_responses (
    caller       text NOT NULL,
    key          text NOT NULL,
    request_hash text NOT NULL,
    endpoint     text NOT NULL,
    status       int,  -- NULL: the request is still being answered
    body         text,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (caller, key)
);

-- Events

-- The outbox, in weekly partitions. PostgreSQL assigns seq before the commit, so a reader that went by seq alone would
-- skip what commits late: xid comes first, and readers stay below the oldest running transaction.
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

-- How far each listener has read, and which process reads for it now.
CREATE TABLE postino.cursors (
    listener      text PRIMARY KEY,
    xid           xid8 NOT NULL DEFAULT '0',
    seq           bigint NOT NULL DEFAULT 0,
    holder        text,
    held_until_at timestamptz
);

-- What people did. Each entry's hash covers the entry before it, so that a change shows.
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
CREATE INDEX audit_subject ON postino.audit (subject);

-- Workers

-- One row per worker process. Its heartbeats tell others that it is alive.
CREATE TABLE postino.workers (
    id         text PRIMARY KEY,
    host       text NOT NULL,
    pid        int NOT NULL,
    started_at timestamptz NOT NULL,
    heartbeats bigint NOT NULL DEFAULT 0,
    suspect    uuid  -- the rescued job that it runs now: rescued jobs run one at a time
);

-- Periodic work, such as pruning, that any worker may do, one at a time.
CREATE TABLE postino.duties (
    duty          text PRIMARY KEY,
    holder        text,
    held_until_at timestamptz,
    done_at       timestamptz
);

-- Authentication

-- Of a key only the prefix is stored, and a digest that proves the rest.
CREATE TABLE postino.api_keys (
    id           uuid PRIMARY KEY,
    name         text NOT NULL UNIQUE,
    prefix       text NOT NULL,
    digest       text NOT NULL,
    role         text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
    brands       text,  -- as JSON; NULL: all
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz
);
CREATE INDEX api_keys_prefix ON postino.api_keys (prefix);

CREATE TABLE postino.users (
    id         uuid PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    password   text,  -- an argon2id hash
    role       text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
    brands     text,  -- as JSON; NULL: all
    created_by text NOT NULL,
    created_at timestamptz NOT NULL
);

-- Browsers that are signed in.
CREATE TABLE postino.sessions (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL,
    digest     text NOT NULL,
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_user ON postino.sessions (user_id);
CREATE INDEX sessions_expiry ON postino.sessions (expires_at);

-- Links that sign a browser in, once.
CREATE TABLE postino.sign_in_links (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL,
    digest     text NOT NULL,
    created_at timestamptz NOT NULL,
    seen_at    timestamptz,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_links_user ON postino.sign_in_links (user_id);

-- Failed logins. The subject is a digest, because people type passwords where names belong. Stored, so that a restart
-- gives nobody new attempts.
CREATE TABLE postino.login_throttles (
    subject  text PRIMARY KEY,
    failures int NOT NULL,
    last_at  timestamptz
);
CREATE INDEX login_throttles_age ON postino.login_throttles (last_at);

-- Partitions

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
            EXECUTE format('CREATE TABLE postino.%I (LIKE postino.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
                           child, parent);
            EXECUTE format('ALTER TABLE postino.%I ATTACH PARTITION postino.%I FOR VALUES FROM (%L) TO (%L)',
                           parent, child, monday, monday + interval '7 days');
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
SELECT postino.make_partitions(9);

-- Drops whole weeks, never single rows. The caller limits how long it waits for a lock; the next run tries again.
CREATE FUNCTION postino.drop_partitions(parent text, before timestamptz) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    child   text;
    dropped int := 0;
BEGIN
    FOR child IN
        SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = ('postino.' || parent)::regclass
          -- (Not by position: the planner may evaluate this for the names of other tables first.)
          AND to_timestamp(substring(relname FROM '_(\d{8})$'), 'YYYYMMDD') + interval '8 days' <= before
    LOOP
        EXECUTE format('DROP TABLE postino.%I', child);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;

-- Views

-- A payload is bytes, whatever they are; people read text.
CREATE FUNCTION postino.payload_text(payload bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN convert_from(payload, 'UTF8');
EXCEPTION WHEN OTHERS THEN
    RETURN encode(payload, 'escape');
END
$$;

-- Every job, unfinished and finished, as the store reads it.
CREATE VIEW postino.stored_jobs AS
SELECT id, type, channel, account, brand, user_id,
       (ARRAY['high', 'default', 'low'])[queue + 1] AS queue, state, scheduled_at, run_at,
       attempts, max_attempts, idempotency_key, payload, remote_id, parent_id, correlation_id,
       last_error, deferral_reason, created_at, claimed_by, claimed_at, dispatched_at, NULL::timestamptz AS finished_at,
       NULL::text AS result, generation, rescues, deferrals, may_be_live, lookup_at, backoff, time_limit, token,
       ignore_blackouts, rate_limit_count
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

-- The same for people and plain SQL, with the payload as text.
CREATE VIEW postino.all_jobs AS
SELECT id, type, channel, account, brand, user_id, queue, state, scheduled_at, run_at, attempts, max_attempts,
       idempotency_key, postino.payload_text(payload) AS payload,
       remote_id, parent_id, correlation_id, last_error, deferral_reason, created_at, claimed_by, claimed_at,
       dispatched_at, finished_at, result, generation, rescues, deferrals, may_be_live, lookup_at, backoff, time_limit,
       token, ignore_blackouts, rate_limit_count, payload AS payload_bytes
FROM postino.stored_jobs;

-- Every attempt. The one that completed a job is the job's finished row; a job that a person completed has no token
-- there, and an attempt of its own.
CREATE VIEW postino.all_attempts AS
SELECT job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message, trace
FROM postino.attempts
UNION ALL
SELECT id, generation, attempts, claimed_at, finished_at, claimed_by, state, NULL, NULL, NULL
FROM postino.finished_jobs
WHERE state = 'completed' AND token IS NOT NULL;

-- Triggers: a post follows its job.

CREATE FUNCTION postino.finish_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE postino.posts SET phase = NEW.state WHERE id = NEW.id AND phase <> NEW.state;
    RETURN NULL;
END
$$;
CREATE FUNCTION postino.reschedule_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE postino.posts SET phase = 'live', scheduled_at = NEW.scheduled_at WHERE id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER post_finished AFTER INSERT ON postino.finished_jobs FOR EACH ROW WHEN (NEW.type = 'postino.post')
    EXECUTE FUNCTION postino.finish_post();
CREATE TRIGGER post_replayed AFTER INSERT ON postino.jobs FOR EACH ROW
    WHEN (NEW.type = 'postino.post' AND NEW.generation > 1)
    EXECUTE FUNCTION postino.reschedule_post();
CREATE TRIGGER post_rescheduled AFTER UPDATE OF scheduled_at ON postino.jobs FOR EACH ROW
    WHEN (NEW.type = 'postino.post' AND NEW.scheduled_at IS DISTINCT FROM OLD.scheduled_at)
    EXECUTE FUNCTION postino.reschedule_post();
