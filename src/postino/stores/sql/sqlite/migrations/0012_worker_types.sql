-- A worker claims only the types of jobs that it handles. Everything that a claim reads has the type in its index, so
-- that jobs of other types cost the claim nothing.
ALTER TABLE postino_workers ADD COLUMN types text NOT NULL DEFAULT '[]';  -- the types it handles, as JSON
CREATE TABLE postino_channels_by_type (
    type    text NOT NULL,
    channel text NOT NULL,
    PRIMARY KEY (type, channel)
) WITHOUT ROWID;
INSERT INTO postino_channels_by_type (type, channel)
SELECT type, channel FROM postino_jobs
UNION SELECT type, channel FROM postino_finished_jobs
UNION SELECT type, channel FROM postino_archived_jobs
UNION SELECT type, channel FROM postino_dead_letters;
DROP TABLE postino_channels;
ALTER TABLE postino_channels_by_type RENAME TO postino_channels;
DROP INDEX postino_jobs_bulk;
CREATE INDEX postino_jobs_bulk ON postino_jobs (channel, queue, type, run_at)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NULL;
DROP INDEX postino_jobs_lanes;
CREATE INDEX postino_jobs_lanes ON postino_jobs (channel, lane, queue, coalesce(brand, ''), type, run_at, id)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts;
DROP INDEX postino_jobs_started;
CREATE INDEX postino_jobs_started ON postino_jobs (channel, type, run_at)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND (may_be_live OR ignore_blackouts);
-- A lane is due for each type of its jobs.
CREATE TABLE postino_lane_due_by_type (
    channel text NOT NULL,
    lane    text NOT NULL,
    queue   integer NOT NULL,
    due_at  text NOT NULL,
    brand   text NOT NULL,  -- '': none
    type    text NOT NULL,
    PRIMARY KEY (channel, lane, queue, brand, type)
);
DROP TABLE postino_lane_due;
ALTER TABLE postino_lane_due_by_type RENAME TO postino_lane_due;
CREATE INDEX postino_lane_due_order ON postino_lane_due (channel, queue, type, due_at);
CREATE INDEX postino_lane_due_type ON postino_lane_due (channel, queue, type, brand, due_at);
CREATE INDEX postino_lane_due_brand ON postino_lane_due (channel, queue, brand, due_at);
INSERT INTO postino_lane_hints (channel, lane, account, low_priority)
SELECT DISTINCT channel, lane, account, 1 FROM postino_jobs WHERE lane IS NOT NULL;
