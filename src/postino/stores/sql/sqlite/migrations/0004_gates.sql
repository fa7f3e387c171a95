-- What is known about each service's trouble. Those that never had any have no row.
CREATE TABLE postino_circuits (
    service  text PRIMARY KEY,
    state    text NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    since_at text,
    until_at text,
    unhealthy_since_at text,  -- since when it has not been closed
    failures text NOT NULL,  -- when, as JSON
    trips    integer NOT NULL,
    probes   integer NOT NULL,
    reason   text,
    by_hand  integer NOT NULL
);

-- Windows in which nothing is published, in somebody's local time.
CREATE TABLE postino_blackouts (
    id         text PRIMARY KEY,
    definition       text NOT NULL,
    configured      integer NOT NULL DEFAULT 0,  -- as the settings say
    created_at text NOT NULL
);

-- What was spent of a network's quotas: reserved before a call, taken back if it never left.
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
