INSERT INTO postino.posts (id, content_id, network, account, fingerprint, publish_until_at, created_at)
SELECT i.id, :content_id, i.network, i.account, i.fingerprint, i.publish_until_at, coalesce(:now::timestamptz, now())
FROM unnest(:id::uuid[], :network::text[], :account::text[], :fingerprint::text[], :publish_until_at::timestamptz[])
    AS i (id, network, account, fingerprint, publish_until_at)
ON CONFLICT (id) DO NOTHING
