-- A worker claims only the types of jobs that it handles. Everything that a claim reads has the type in its index, so
-- that jobs of other types cost the claim nothing.
ALTER TABLE postino.workers ADD COLUMN types text NOT NULL DEFAULT '[]';  -- the types it handles, as JSON
ALTER TABLE postino.channels ADD COLUMN type text;
INSERT INTO postino.channels (channel, type)
SELECT channel, type FROM postino.jobs
UNION SELECT channel, type FROM postino.finished_jobs
UNION SELECT channel, type FROM postino.archived_jobs
UNION SELECT channel, type FROM postino.dead_letters;
DELETE FROM postino.channels WHERE type IS NULL;
ALTER TABLE postino.channels ALTER COLUMN type SET NOT NULL;
CREATE INDEX channels_type ON postino.channels (type, channel);
DROP INDEX postino.jobs_bulk;
CREATE INDEX jobs_bulk ON postino.jobs (channel, queue, type, run_at)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NULL;
DROP INDEX postino.jobs_lanes;
CREATE INDEX jobs_lanes ON postino.jobs (channel, lane, queue, coalesce(brand, ''), type, run_at, id)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts;
DROP INDEX postino.jobs_started;
CREATE INDEX jobs_started ON postino.jobs (channel, type, run_at)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND (may_be_live OR ignore_blackouts);
-- A lane is due for each type of its jobs.
DELETE FROM postino.lane_due;
ALTER TABLE postino.lane_due ADD COLUMN type text NOT NULL;
ALTER TABLE postino.lane_due DROP CONSTRAINT lane_due_pkey;
ALTER TABLE postino.lane_due ADD PRIMARY KEY (channel, lane, queue, brand, type);
DROP INDEX postino.lane_due_order;
CREATE INDEX lane_due_order ON postino.lane_due (channel, queue, type, due_at);
CREATE INDEX lane_due_type ON postino.lane_due (channel, queue, type, brand, due_at);
INSERT INTO postino.lane_hints (channel, lane, account, low_priority)
SELECT DISTINCT channel, lane, account, true FROM postino.jobs WHERE lane IS NOT NULL;
