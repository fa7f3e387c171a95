-- After its job, which knows best when it is to go out.
INSERT INTO postino_posts (id, content_id, network, account, fingerprint, publish_until_at, brand, scheduled_at, created_at)
SELECT :id, :content_id, :network, :account, :fingerprint, :publish_until_at, brand, scheduled_at, :now
FROM postino_jobs WHERE id = :id
ON CONFLICT (id) DO NOTHING
RETURNING id, (SELECT state FROM postino_accounts WHERE postino_accounts.id = postino_posts.account) AS account_state
