INSERT INTO postino.spent (job_id, step, number, channel, account, quota, cost, at)
SELECT :job_id, :step, :number, :spent_on, want.account, want.quota, want.cost, coalesce(:now::timestamptz, now())
FROM unnest(:quota::text[], :account::text[], :cost::int[]) AS want (quota, account, cost)
ON CONFLICT (job_id, step, number, quota) DO UPDATE SET at = excluded.at
