-- Lanes that are due and may not be claimed from: a blackout has begun. Once looked at again they are in nobody's way.
SELECT channel, lane FROM postino_lane_due
WHERE channel = :channel AND queue = :queue AND brand IN (SELECT value FROM json_each(:shut_brand)) AND due_at <= :now
UNION
SELECT channel, lane FROM postino_lane_due
WHERE channel = :channel AND queue = :queue AND lane IN (SELECT '@' || value FROM json_each(:shut_account)) AND due_at <= :now
LIMIT 500
