-- Accounts that just got a job to run: nothing to do there until that job's settle hints at it.
DELETE FROM postino_lane_due WHERE channel = :channel AND lane = :lane
