-- Until when it may be published, and nothing else of it: for rehearsals only.
INSERT INTO postino_posts (id, content_id, network, account, fingerprint, publish_until_at, created_at)
VALUES (:id, '', :channel, :account, '', :publish_until_at, :now)
