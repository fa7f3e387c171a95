INSERT INTO postino_posts (id, content_id, network, account, fingerprint, publish_until_at, created_at)
VALUES (:id, :content_id, :network, :account, :fingerprint, :publish_until_at, :now)
ON CONFLICT (id) DO NOTHING
