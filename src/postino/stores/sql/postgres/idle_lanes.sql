-- Accounts that just got a job to run: nothing to do there until that job's settle hints at it.
DELETE FROM postino.lane_due AS due USING unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
WHERE due.channel = l.channel AND due.lane = l.lane
