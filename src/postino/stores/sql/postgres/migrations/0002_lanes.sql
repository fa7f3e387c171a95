-- Lane hints come from triggers on jobs, so that no statement can forget them. may_be_live means what the ledger says:
-- an accepted receipt, or an intent without a definite refusal. A lane is due for each brand of its jobs.

-- A closed brand holds its own jobs of a lane, not those of other brands behind them.
ALTER TABLE postino.lane_due DROP CONSTRAINT lane_due_pkey;
ALTER TABLE postino.lane_due ADD PRIMARY KEY (channel, lane, queue, brand);
DROP INDEX postino.jobs_lanes;
CREATE INDEX jobs_lanes ON postino.jobs (channel, lane, queue, coalesce(brand, ''), run_at, id)
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts;

-- Row triggers, because their conditions cost jobs without a lane nothing. A claim needs no hint: it updates the lane
-- itself.
CREATE FUNCTION postino.hint_lane() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO postino.lane_hints (channel, lane, account) VALUES (OLD.channel, OLD.lane, OLD.account);
    ELSE
        INSERT INTO postino.lane_hints (channel, lane, account) VALUES (NEW.channel, NEW.lane, NEW.account);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER lane_hinted_by_insert AFTER INSERT ON postino.jobs FOR EACH ROW
    WHEN (NEW.lane IS NOT NULL AND NEW.state <> 'running')
    EXECUTE FUNCTION postino.hint_lane();
CREATE TRIGGER lane_hinted_by_update AFTER UPDATE ON postino.jobs FOR EACH ROW
    WHEN (NEW.lane IS NOT NULL AND NEW.state <> 'running' AND (
        NEW.state, NEW.run_at, NEW.queue, NEW.may_be_live, NEW.ignore_blackouts, NEW.lookup_at, NEW.brand, NEW.lane,
        NEW.channel, NEW.account
    ) IS DISTINCT FROM (
        OLD.state, OLD.run_at, OLD.queue, OLD.may_be_live, OLD.ignore_blackouts, OLD.lookup_at, OLD.brand, OLD.lane,
        OLD.channel, OLD.account
    ))
    EXECUTE FUNCTION postino.hint_lane();
-- The lane of a brand runs any number of jobs at once: the end of one changes nothing.
CREATE TRIGGER lane_hinted_by_delete AFTER DELETE ON postino.jobs FOR EACH ROW
    WHEN (OLD.lane IS NOT NULL AND (OLD.state <> 'running' OR OLD.account IS NOT NULL))
    EXECUTE FUNCTION postino.hint_lane();

UPDATE postino.jobs AS job SET may_be_live = false
WHERE may_be_live AND lookup_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM postino.receipts WHERE job_id = job.id AND verdict = 'accepted'
);
-- For the new due times, and for lanes that have lost their hint.
INSERT INTO postino.lane_hints (channel, lane, account, low_priority)
SELECT DISTINCT channel, lane, account, true FROM postino.jobs WHERE lane IS NOT NULL;
