-- The whole schema: tables with their indexes, then views, then triggers.
-- Instants end in _at. They are texts like 2026-03-29T01:30:00.000000Z: they sort by time, and people can read them.
-- A job's id is chosen by the caller, a UUIDv7, so that ids sort by age.

-- Jobs

-- Live jobs only, so that claims and settles stay fast whatever has finished. Idempotency keys are in a table of their
-- own: every update of a job would touch a unique index here.
CREATE TABLE postino_jobs (
    id               text PRIMARY KEY,
    type             text NOT NULL,
    channel          text NOT NULL,
    queue            integer NOT NULL CHECK (queue BETWEEN 0 AND 2),
    state            text NOT NULL CHECK (state IN ('pending', 'running', 'uncertain')),
    lane             text,
    account          text,
    brand            text,
    user_id          text,
    parent_id        text,
    correlation_id   text,
    idempotency_key  text NOT NULL,
    payload          blob NOT NULL,
    scheduled_at     text NOT NULL,
    run_at           text,  -- NULL: uncertain, and waiting for a person
    attempts         integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    max_attempts     integer CHECK (max_attempts > 0),
    backoff          text,
    time_limit       real CHECK (time_limit > 0),
    generation       integer NOT NULL DEFAULT 1,
    rescues          integer NOT NULL DEFAULT 0,
    deferrals        integer NOT NULL DEFAULT 0,
    rate_limit_count integer NOT NULL DEFAULT 0,
    deferral_reason  text,
    may_be_live      integer NOT NULL DEFAULT 0,  -- a visible call was sent: the network may have the post
    ignore_blackouts integer NOT NULL DEFAULT 0,
    lookup_at        text,  -- a visible call is in doubt: when the network may be asked about it
    remote_id        text,
    last_error       text,
    claimed_by       text,
    claimed_at       text,
    token            text,
    deadline_at      text,  -- after it, any worker may rescue the job
    dispatched_at    text,
    created_at       text NOT NULL,
    -- These back up the rules: a pending job always has a time, a running job always has an owner.
    CHECK (state <> 'pending' OR run_at IS NOT NULL),
    CHECK ((state = 'running') = (token IS NOT NULL)),
    CHECK ((state = 'running') = (claimed_by IS NOT NULL)),
    CHECK ((state = 'running') = (claimed_at IS NOT NULL))
);
-- A claim takes pending jobs, and uncertain ones that are due for a lookup, through one of these three indexes.
-- One range per (channel, queue): a range shared by queues would pass the future jobs of one to reach another.
CREATE INDEX postino_jobs_bulk ON postino_jobs (channel, queue, run_at)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NULL;
CREATE INDEX postino_jobs_lanes ON postino_jobs (channel, lane, queue, run_at, id)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts;
-- Fewer gates hold these up, so they do not wait behind the others of their lane.
CREATE INDEX postino_jobs_started ON postino_jobs (channel, run_at)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND (may_be_live OR ignore_blackouts);
CREATE INDEX postino_jobs_uncertain_lanes ON postino_jobs (channel, lane) WHERE state = 'uncertain';
CREATE INDEX postino_jobs_uncertain ON postino_jobs (id) WHERE state = 'uncertain';
CREATE INDEX postino_jobs_running ON postino_jobs (channel) WHERE state = 'running';
-- This backs up the lanes: SQLite refuses a second running job of one account on one channel.
CREATE UNIQUE INDEX postino_jobs_one_per_account ON postino_jobs (channel, lane)
    WHERE state = 'running' AND account IS NOT NULL;
CREATE INDEX postino_jobs_children ON postino_jobs (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX postino_jobs_brand ON postino_jobs (brand, id) WHERE brand IS NOT NULL;

-- The job that each idempotency key belongs to, for ever. Rows are only inserted.
CREATE TABLE postino_idempotency_keys (
    channel text NOT NULL,
    key     text NOT NULL,
    job_id  text NOT NULL,
    PRIMARY KEY (channel, key)
) WITHOUT ROWID;

-- Completed, failed and cancelled jobs, pruned some at a time.
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
    may_be_live     integer NOT NULL,
    remote_id       text,
    result          text,
    last_error      text,
    claimed_by      text,
    claimed_at      text,
    token           text,  -- of the claim that ended it: a settle repeated after a lost response finds it here
    dispatched_at   text,
    created_at      text NOT NULL,
    finished_at     text NOT NULL,
    superseded      integer NOT NULL DEFAULT 0  -- replayed: a later generation has replaced this row
);
CREATE INDEX postino_finished_jobs_id ON postino_finished_jobs (id);
CREATE INDEX postino_finished_jobs_time ON postino_finished_jobs (finished_at);
CREATE INDEX postino_finished_jobs_children ON postino_finished_jobs (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX postino_finished_jobs_posts ON postino_finished_jobs (finished_at) WHERE type = 'postino.post';
CREATE INDEX postino_finished_jobs_brand ON postino_finished_jobs (brand, id, state, type)
    WHERE brand IS NOT NULL AND NOT superseded;

-- Finished posts, moved here before finished jobs are pruned: posts never are.
CREATE TABLE postino_archived_jobs AS SELECT * FROM postino_finished_jobs WHERE 0;
CREATE INDEX postino_archived_jobs_id ON postino_archived_jobs (id);
CREATE INDEX postino_archived_jobs_brand ON postino_archived_jobs (brand, id) WHERE brand IS NOT NULL;

-- Every attempt except the one that completed a job: that one is the job's row in finished_jobs.
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
CREATE INDEX postino_attempts_time ON postino_attempts (ended_at);

-- Whole copies of failed jobs, because a dead letter stays until a person resolves it and outlives finished jobs.
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
    may_be_live     integer NOT NULL,
    remote_id       text,
    last_error      text,
    trace           text,
    created_at      text NOT NULL,
    died_at         text NOT NULL,
    cause           text NOT NULL
                    CHECK (cause IN ('exhausted', 'permanent', 'poison', 'worker_killer', 'missed', 'given_up')),
    history         text NOT NULL,
    resolved_at     text,
    resolution      text CHECK (resolution IN ('replayed', 'discarded')),
    PRIMARY KEY (id, generation),
    CHECK ((resolved_at IS NULL) = (resolution IS NULL))
);
CREATE INDEX postino_dead_letters_open ON postino_dead_letters (id DESC) WHERE resolved_at IS NULL;
CREATE INDEX postino_dead_letters_brand ON postino_dead_letters (brand, id) WHERE brand IS NOT NULL;

-- Channels and lanes

-- Every channel that ever had a job.
CREATE TABLE postino_channels (channel text PRIMARY KEY) WITHOUT ROWID;

-- The waiting line of one account, or one brand, on a channel.
CREATE TABLE postino_lanes (
    channel text NOT NULL,
    lane    text NOT NULL,
    account text,
    PRIMARY KEY (channel, lane)
);
CREATE INDEX postino_lanes_account ON postino_lanes (account);

-- When a lane next has something to do, per queue, and the brand of the job at its head. Gates of its account and
-- brand are counted in, so that a closed lane costs others nothing, whatever its backlog. The time may be too early,
-- never too late.
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

-- "Look at this lane again": inserted with every change that may have made a lane ready, folded into lane_due by
-- claims.
CREATE TABLE postino_lane_hints (
    id           integer PRIMARY KEY,
    channel      text NOT NULL,
    lane         text NOT NULL,
    account      text,
    low_priority int NOT NULL DEFAULT 0  -- from a gate of many lanes: hints of new jobs go first
);
CREATE INDEX postino_lane_hints_lane ON postino_lane_hints (channel, lane);
CREATE INDEX postino_lane_hints_order ON postino_lane_hints (low_priority, id);

-- When each brand last had its turn on a channel: the one whose turn is longest ago goes first.
CREATE TABLE postino_brand_turns (
    channel text NOT NULL,
    brand   text NOT NULL,
    at      text NOT NULL,
    PRIMARY KEY (channel, brand)
) WITHOUT ROWID;

-- Gates

-- Reasons not to run yet, each until a time; year 9999 means until somebody opens it. Expired gates stay and mean
-- nothing.
CREATE TABLE postino_gates (
    scope        text NOT NULL CHECK (scope IN ('all', 'queue', 'channel', 'brand', 'account')),
    name         text NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('pause', 'token', 'cooldown', 'quota')),
    since_at     text NOT NULL,
    until_at     text NOT NULL,
    reason       text,
    repeat_count integer NOT NULL DEFAULT 1,  -- in a row: each repeated rate limit closes the gate for longer
    PRIMARY KEY (scope, name, kind)
);

-- How many jobs of a channel may run at once. `cap` is set by a person and goes before `default_cap`.
CREATE TABLE postino_caps (
    channel     text PRIMARY KEY,
    cap         integer CHECK (cap >= 0),
    default_cap integer CHECK (default_cap >= 0)
);

-- The circuit breaker of each service. A service that never failed has no row.
CREATE TABLE postino_circuits (
    service            text PRIMARY KEY,
    state              text NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    since_at           text,
    until_at           text,
    unhealthy_since_at text,  -- NULL: closed
    failures           text NOT NULL,  -- their times, as JSON
    trips              integer NOT NULL,
    probes             integer NOT NULL,
    reason             text,
    manual             integer NOT NULL
);

-- Windows of local time in which nothing is published.
CREATE TABLE postino_blackouts (
    id         text PRIMARY KEY,
    definition text NOT NULL,  -- as JSON
    configured integer NOT NULL DEFAULT 0,  -- from the settings, not from a person
    created_at text NOT NULL
);

-- What each call used of the network's quotas: reserved before the call, released if it was never sent.
CREATE TABLE postino_quota_usage (
    job_id  text NOT NULL,
    step    text NOT NULL,
    number  integer NOT NULL,
    channel text NOT NULL,
    account text NOT NULL,
    quota   text NOT NULL,
    cost    integer NOT NULL,
    at      text NOT NULL,
    PRIMARY KEY (job_id, step, number, quota)
);
CREATE INDEX postino_quota_usage_recent ON postino_quota_usage (channel, quota, account, at);

-- The ledger. It is not tied to the tables of jobs: a job moves from one to another, and what it sent stays sent.

-- Results of inert steps, which may be repeated, until the job is edited.
CREATE TABLE postino_steps (
    job_id   text NOT NULL,
    name     text NOT NULL,
    position integer NOT NULL,
    asked_at text NOT NULL,
    done_at  text,
    result   text,
    PRIMARY KEY (job_id, name)
) WITHOUT ROWID;

-- Visible calls, committed just before they are sent. Never changed.
CREATE TABLE postino_intents (
    job_id         text NOT NULL,
    step           text NOT NULL,
    number         integer NOT NULL,
    position       integer NOT NULL,
    token          text NOT NULL,
    intended_at    text NOT NULL,
    send_before_at text NOT NULL,
    lookup_at      text NOT NULL,
    PRIMARY KEY (job_id, step, number)
) WITHOUT ROWID;

-- What became of intents: facts, accepted from anyone at any time, never changed. One intent may have several; two
-- different remote ids for one step raise an alarm.
CREATE TABLE postino_receipts (
    job_id    text NOT NULL,
    step      text NOT NULL,
    number    integer NOT NULL,
    verdict   text NOT NULL CHECK (verdict IN ('accepted', 'refused')),
    remote_id text NOT NULL DEFAULT '',
    url       text,
    data      text NOT NULL DEFAULT '{}',
    why       text,
    source    text NOT NULL CHECK (source IN ('call', 'lookup', 'person')),
    at        text NOT NULL,
    PRIMARY KEY (job_id, step, number, verdict, remote_id),
    CHECK ((verdict = 'accepted') = (remote_id <> ''))
) WITHOUT ROWID;

-- The job that each remote post belongs to, for ever: none belongs to two.
CREATE TABLE postino_remote_ids (
    channel   text NOT NULL,
    account   text NOT NULL,
    remote_id text NOT NULL,
    job_id    text NOT NULL,
    at        text NOT NULL,
    PRIMARY KEY (channel, account, remote_id)
) WITHOUT ROWID;

-- One row: which database this is and when a worker last used it. A copy or a restored backup differs, and does not
-- know what was sent since.
CREATE TABLE postino_database_identity (
    id       int PRIMARY KEY CHECK (id = 1),
    identity text NOT NULL,
    alive_at text NOT NULL
);

-- Posts. None of these is pruned, except drafts and imports.

CREATE TABLE postino_accounts (
    id         text PRIMARY KEY,
    network    text NOT NULL,
    handle     text NOT NULL,
    base_url   text NOT NULL,
    brand      text,
    remote_id  text,
    state      text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'token_expired', 'suspended', 'paused')),
    reason     text,
    sealed     blob NOT NULL,  -- the credentials, encrypted
    created_at text NOT NULL
);

-- What people wrote, once for all accounts.
CREATE TABLE postino_contents (
    id          text PRIMARY KEY,
    text        text NOT NULL,
    search_text text NOT NULL DEFAULT '',  -- all its words, in one case
    brand       text,
    user_id     text,
    version     integer NOT NULL,
    created_at  text NOT NULL
);

-- One content on one account. A post's id is its job's id. Lists and the calendar find posts by brand, scheduled_at
-- and phase; triggers on jobs and finished_jobs keep these true in the transaction that changes the job.
CREATE TABLE postino_posts (
    id               text PRIMARY KEY,
    content_id       text NOT NULL,
    network          text NOT NULL,
    account          text NOT NULL,
    brand            text,
    fingerprint      text NOT NULL,
    scheduled_at     text,
    publish_until_at text,
    phase            text NOT NULL DEFAULT 'live' CHECK (phase IN ('live', 'completed', 'failed', 'cancelled')),
    created_at       text NOT NULL
);
CREATE INDEX postino_posts_content ON postino_posts (content_id);
CREATE INDEX postino_posts_duplicates ON postino_posts (account, fingerprint, created_at);
CREATE INDEX postino_posts_until ON postino_posts (publish_until_at) WHERE publish_until_at IS NOT NULL;
CREATE INDEX postino_posts_account ON postino_posts (account, phase, id);
CREATE INDEX postino_posts_brand ON postino_posts (brand, phase, id);
CREATE INDEX postino_posts_network ON postino_posts (network, phase, id);
CREATE INDEX postino_posts_phase ON postino_posts (phase, id);
CREATE INDEX postino_posts_time ON postino_posts (scheduled_at, id);
CREATE INDEX postino_posts_account_time ON postino_posts (account, scheduled_at, id);
CREATE INDEX postino_posts_brand_time ON postino_posts (brand, scheduled_at, id);

-- Requests for posts that nobody has made yet. Removed when the posts are made.
CREATE TABLE postino_drafts (
    id         text PRIMARY KEY,
    brand      text,
    author     text NOT NULL,
    body       text NOT NULL,  -- the request, as JSON
    version    integer NOT NULL,
    created_at text NOT NULL,
    changed_at text NOT NULL
);
CREATE INDEX postino_drafts_brand ON postino_drafts (brand, id);

-- Files of posts: checked first, then saved row by row.
CREATE TABLE postino_imports (
    id             text PRIMARY KEY,
    caller         text NOT NULL,
    author         text NOT NULL,
    state          text NOT NULL CHECK (state IN ('checked', 'saving', 'saved')),
    token          text NOT NULL,
    file           blob NOT NULL,
    timezone       text,
    rows           integer NOT NULL,
    processed_rows integer NOT NULL DEFAULT 0,  -- rows that were saved, existed already or were refused
    created        integer NOT NULL DEFAULT 0,  -- posts
    existing       integer NOT NULL DEFAULT 0,  -- posts that existed before
    problems       text NOT NULL,  -- as JSON
    created_at     text NOT NULL,
    changed_at     text NOT NULL
);
CREATE UNIQUE INDEX postino_imports_token ON postino_imports (caller, token);

-- The response to each request with an Idempotency-Key, for ever: written with what the request made.
CREATE TABLE postino_stored_responses (
    caller       text NOT NULL,
    key          text NOT NULL,
    request_hash text NOT NULL,
    endpoint     text NOT NULL,
    status       integer,  -- NULL: the request is still being answered
    body         text,
    created_at   text NOT NULL,
    PRIMARY KEY (caller, key)
) WITHOUT ROWID;

-- Events

-- The outbox. There is one writer, so the order of the numbers is the order of the commits.
CREATE TABLE postino_events (
    seq    integer PRIMARY KEY AUTOINCREMENT,
    at     text NOT NULL,
    type   text NOT NULL,
    job_id text,
    data   text NOT NULL DEFAULT '{}'
);

-- How far each listener has read, and which process reads for it now.
CREATE TABLE postino_cursors (
    listener      text PRIMARY KEY,
    seq           integer NOT NULL DEFAULT 0,
    holder        text,
    held_until_at text
);

-- What people did. Each entry's hash covers the entry before it, so that a change shows.
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
CREATE INDEX postino_audit_subject ON postino_audit (subject);

-- Workers

-- One row per worker process. Its heartbeats tell others that it is alive.
CREATE TABLE postino_workers (
    id         text PRIMARY KEY,
    host       text NOT NULL,
    pid        integer NOT NULL,
    started_at text NOT NULL,
    heartbeats integer NOT NULL DEFAULT 0,
    suspect    text  -- the rescued job that it runs now: rescued jobs run one at a time
);

-- Periodic work, such as pruning, that any worker may do, one at a time.
CREATE TABLE postino_duties (
    duty          text PRIMARY KEY,
    holder        text,
    held_until_at text,
    done_at       text
);

-- Authentication

-- Of a key only the prefix is stored, and a digest that proves the rest.
CREATE TABLE postino_api_keys (
    id           text PRIMARY KEY,
    name         text NOT NULL UNIQUE,
    prefix       text NOT NULL,
    digest       text NOT NULL,
    role         text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
    brands       text,  -- as JSON; NULL: all
    created_by   text NOT NULL,
    created_at   text NOT NULL,
    expires_at   text,
    last_used_at text
);
CREATE INDEX postino_api_keys_prefix ON postino_api_keys (prefix);

CREATE TABLE postino_users (
    id         text PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    password   text,  -- an argon2id hash
    role       text NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
    brands     text,  -- as JSON; NULL: all
    created_by text NOT NULL,
    created_at text NOT NULL
);

-- Browsers that are signed in.
CREATE TABLE postino_sessions (
    id         text PRIMARY KEY,
    user_id    text NOT NULL,
    digest     text NOT NULL,
    created_at text NOT NULL,
    seen_at    text NOT NULL,
    expires_at text NOT NULL
);
CREATE INDEX postino_sessions_user ON postino_sessions (user_id);
CREATE INDEX postino_sessions_expiry ON postino_sessions (expires_at);

-- Links that sign a browser in, once.
CREATE TABLE postino_sign_in_links (
    id         text PRIMARY KEY,
    user_id    text NOT NULL,
    digest     text NOT NULL,
    created_at text NOT NULL,
    seen_at    text,
    expires_at text NOT NULL
);
CREATE INDEX postino_sign_in_links_user ON postino_sign_in_links (user_id);

-- Failed logins. The subject is a digest, because people type passwords where names belong. Stored, so that a restart
-- gives nobody new attempts.
CREATE TABLE postino_login_throttles (
    subject  text PRIMARY KEY,
    failures integer NOT NULL,
    last_at  text
);
CREATE INDEX postino_login_throttles_age ON postino_login_throttles (last_at);

-- Views

-- Every job, unfinished and finished, as the store reads it.
CREATE VIEW postino_stored_jobs AS
SELECT id, type, channel, account, brand, user_id,
       CASE queue WHEN 0 THEN 'high' WHEN 1 THEN 'default' ELSE 'low' END AS queue, state, scheduled_at, run_at,
       attempts, max_attempts, idempotency_key, payload, remote_id, parent_id, correlation_id,
       last_error, deferral_reason, created_at, claimed_by, claimed_at, dispatched_at, NULL AS finished_at,
       NULL AS result, generation, rescues, deferrals, may_be_live, lookup_at, backoff, time_limit, token,
       ignore_blackouts, rate_limit_count
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

-- The same for people and plain SQL, with the payload as text: JSON as it is, other bytes quoted.
CREATE VIEW postino_all_jobs AS
SELECT id, type, channel, account, brand, user_id, queue, state, scheduled_at, run_at, attempts, max_attempts,
       idempotency_key,
       CASE WHEN json_valid(CAST(payload AS text)) THEN CAST(payload AS text) ELSE quote(payload) END AS payload,
       remote_id, parent_id, correlation_id, last_error, deferral_reason, created_at, claimed_by, claimed_at,
       dispatched_at, finished_at, result, generation, rescues, deferrals, may_be_live, lookup_at, backoff, time_limit,
       token, ignore_blackouts, rate_limit_count, payload AS payload_bytes
FROM postino_stored_jobs;

-- Every attempt. The one that completed a job is the job's finished row; a job that a person completed has no token
-- there, and an attempt of its own.
CREATE VIEW postino_all_attempts AS
SELECT job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message, trace
FROM postino_attempts
UNION ALL
SELECT id, generation, attempts, claimed_at, finished_at, claimed_by, state, NULL, NULL, NULL
FROM postino_finished_jobs
WHERE state = 'completed' AND token IS NOT NULL;

-- Triggers: a post follows its job.

CREATE TRIGGER postino_post_finished AFTER INSERT ON postino_finished_jobs WHEN NEW.type = 'postino.post'
BEGIN
    UPDATE postino_posts SET phase = NEW.state WHERE id = NEW.id AND phase <> NEW.state;
END;
CREATE TRIGGER postino_post_replayed AFTER INSERT ON postino_jobs WHEN NEW.type = 'postino.post' AND NEW.generation > 1
BEGIN
    UPDATE postino_posts SET phase = 'live', scheduled_at = NEW.scheduled_at WHERE id = NEW.id;
END;
CREATE TRIGGER postino_post_rescheduled AFTER UPDATE OF scheduled_at ON postino_jobs
    WHEN NEW.type = 'postino.post' AND NEW.scheduled_at IS NOT OLD.scheduled_at
BEGIN
    UPDATE postino_posts SET phase = 'live', scheduled_at = NEW.scheduled_at WHERE id = NEW.id;
END;
