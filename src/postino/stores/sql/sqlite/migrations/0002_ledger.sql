-- What is remembered about a job's steps. Nothing here is tied to the tables of live and finished jobs: a job moves
-- from one to the other, and what it has sent stays sent.
CREATE TABLE postino_steps (
    job_id   text NOT NULL,
    name     text NOT NULL,
    position integer NOT NULL,
    asked_at text NOT NULL,
    done_at  text,
    result   text,
    PRIMARY KEY (job_id, name)
) WITHOUT ROWID;

-- Written just before a visible call leaves, never changed.
CREATE TABLE postino_intents (
    job_id         text NOT NULL,
    step           text NOT NULL,
    number         integer NOT NULL,
    position       integer NOT NULL,
    token          text NOT NULL,
    intended_at    text NOT NULL,
    send_before_at text NOT NULL,
    lookup_at        text NOT NULL,
    PRIMARY KEY (job_id, step, number)
) WITHOUT ROWID;

-- What became of them: facts, from anyone, at any time, never changed. Several for one intent are possible, and two
-- different remote ids for one step are an alarm.
CREATE TABLE postino_receipts (
    job_id    text NOT NULL,
    step      text NOT NULL,
    number    integer NOT NULL,
    verdict   text NOT NULL CHECK (verdict IN ('accepted', 'refused')),
    remote_id text NOT NULL DEFAULT '',
    url       text,
    data      text NOT NULL DEFAULT '{}',
    why       text,
    source   text NOT NULL CHECK (source IN ('call', 'lookup', 'person')),
    at        text NOT NULL,
    PRIMARY KEY (job_id, step, number, verdict, remote_id),
    CHECK ((verdict = 'accepted') = (remote_id <> ''))
) WITHOUT ROWID;

-- Whose remote post is whose, for ever: none belongs to two jobs.
CREATE TABLE postino_remote_ids (
    channel   text NOT NULL,
    account   text NOT NULL,
    remote_id text NOT NULL,
    job_id    text NOT NULL,
    at        text NOT NULL,
    PRIMARY KEY (channel, account, remote_id)
) WITHOUT ROWID;

-- Where this database lives, and when it was last at work: one row. A copy, or one brought back from an earlier day,
-- does not know what was sent since.
CREATE TABLE postino_database_identity (
    id       int PRIMARY KEY CHECK (id = 1),
    identity text NOT NULL,
    alive_at text NOT NULL
);
