-- Lane hints come from triggers on jobs, so that no statement can forget them. may_be_live means what the ledger says:
-- an accepted receipt, or an intent without a definite refusal. A lane is due for each brand of its jobs.

-- A closed brand holds its own jobs of a lane, not those of other brands behind them.
CREATE TABLE postino_lane_due_by_brand (
    channel text NOT NULL,
    lane    text NOT NULL,
    queue   integer NOT NULL,
    due_at  text NOT NULL,
    brand   text NOT NULL,  -- '': none
    PRIMARY KEY (channel, lane, queue, brand)
);
DROP TABLE postino_lane_due;
ALTER TABLE postino_lane_due_by_brand RENAME TO postino_lane_due;
CREATE INDEX postino_lane_due_order ON postino_lane_due (channel, queue, due_at);
CREATE INDEX postino_lane_due_brand ON postino_lane_due (channel, queue, brand, due_at);
DROP INDEX postino_jobs_lanes;
CREATE INDEX postino_jobs_lanes ON postino_jobs (channel, lane, queue, coalesce(brand, ''), run_at, id)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts;

-- A claim needs no hint: it updates the lane itself.
CREATE TRIGGER postino_lane_hinted_by_insert AFTER INSERT ON postino_jobs
WHEN NEW.lane IS NOT NULL AND NEW.state <> 'running'
BEGIN
    INSERT INTO postino_lane_hints (channel, lane, account) VALUES (NEW.channel, NEW.lane, NEW.account);
END;
CREATE TRIGGER postino_lane_hinted_by_update AFTER UPDATE ON postino_jobs
WHEN NEW.lane IS NOT NULL AND NEW.state <> 'running' AND (
    NEW.state, NEW.run_at, NEW.queue, NEW.may_be_live, NEW.ignore_blackouts, NEW.lookup_at, NEW.brand, NEW.lane,
    NEW.channel, NEW.account
) IS NOT (
    OLD.state, OLD.run_at, OLD.queue, OLD.may_be_live, OLD.ignore_blackouts, OLD.lookup_at, OLD.brand, OLD.lane,
    OLD.channel, OLD.account
)
BEGIN
    INSERT INTO postino_lane_hints (channel, lane, account) VALUES (NEW.channel, NEW.lane, NEW.account);
END;
-- The lane of a brand runs any number of jobs at once: the end of one changes nothing.
CREATE TRIGGER postino_lane_hinted_by_delete AFTER DELETE ON postino_jobs
WHEN OLD.lane IS NOT NULL AND (OLD.state <> 'running' OR OLD.account IS NOT NULL)
BEGIN
    INSERT INTO postino_lane_hints (channel, lane, account) VALUES (OLD.channel, OLD.lane, OLD.account);
END;

UPDATE postino_jobs SET may_be_live = 0
WHERE may_be_live AND lookup_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM postino_receipts WHERE job_id = postino_jobs.id AND verdict = 'accepted'
);
-- For the new due times, and for lanes that have lost their hint.
INSERT INTO postino_lane_hints (channel, lane, account, low_priority)
SELECT DISTINCT channel, lane, account, 1 FROM postino_jobs WHERE lane IS NOT NULL;
