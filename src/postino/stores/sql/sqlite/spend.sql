INSERT INTO postino_spent (job_id, step, number, channel, account, quota, cost, at)
VALUES (:job_id, :step, :number, :spent_on, :account, :quota, :cost, :now)
ON CONFLICT (job_id, step, number, quota) DO UPDATE SET at = excluded.at
