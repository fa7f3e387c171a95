-- After its job, which knows best when it is to go out.
INSERT INTO postino.posts (id, content_id, network, account, fingerprint, publish_until_at, brand, scheduled_at, created_at)
SELECT i.id, i.content_id, i.network, i.account, i.fingerprint, i.publish_until_at, job.brand, job.scheduled_at,
       coalesce(:now::timestamptz, now())
FROM unnest(:id::uuid[], :content_id::uuid[], :network::text[], :account::text[], :fingerprint::text[],
            :publish_until_at::timestamptz[])
    AS i (id, content_id, network, account, fingerprint, publish_until_at)
JOIN postino.jobs AS job ON job.id = i.id
ON CONFLICT (id) DO NOTHING
RETURNING id, (SELECT account.state FROM postino.accounts AS account WHERE account.id = posts.account) AS account_state
