-- Which quotas have no room for what is wanted. What this very call reserved before, when it could not be made, is its own.
SELECT want.quota
FROM unnest(:quota::text[], :account::text[], :cost::int[], :most::int[], :since_at::timestamptz[])
    AS want (quota, account, cost, most, since_at)
WHERE want.most < want.cost + (
    SELECT coalesce(sum(spent.cost), 0) FROM postino.spent
    WHERE spent.channel = :spent_on AND spent.quota = want.quota AND spent.account = want.account AND spent.at >= want.since_at
      AND NOT (spent.job_id = :job_id AND spent.step = :step AND spent.number = :number)
)
