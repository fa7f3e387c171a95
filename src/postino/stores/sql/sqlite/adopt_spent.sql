INSERT INTO postino_spent (job_id, step, number, channel, account, quota, cost, at)
VALUES ('elsewhere', '', :number, :spent_on, :account, :quota, :cost, :at)
