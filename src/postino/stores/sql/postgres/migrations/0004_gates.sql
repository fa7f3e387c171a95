-- What is known about each service's trouble. Those that never had any have no row.
CREATE TABLE postino.circuits (
    service  text PRIMARY KEY,
    state    text NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    since_at timestamptz,
    until_at timestamptz,
    unhealthy_since_at timestamptz,  -- since when it has not been closed
    failures text NOT NULL,  -- when, as JSON
    trips    int NOT NULL,
    probes   int NOT NULL,
    reason   text,
    by_hand  boolean NOT NULL
);

-- Windows in which nothing is published, in somebody's local time.
CREATE TABLE postino.blackouts (
    id         uuid PRIMARY KEY,
    definition       text NOT NULL,
    configured      boolean NOT NULL DEFAULT false,  -- as the settings say
    created_at timestamptz NOT NULL
);

-- What was spent of a network's quotas: reserved before a call, taken back if it never left.
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
