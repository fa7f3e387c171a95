-- Newest first; what a filter does not say does not matter.
SELECT job.*, post.content_id, post.publish_until_at, content.text AS content, content.version, account.state AS account_state
FROM postino_posts AS post
JOIN postino_stored_jobs AS job ON job.id = post.id
JOIN postino_contents AS content ON content.id = post.content_id
LEFT JOIN postino_accounts AS account ON account.id = post.account
WHERE (:id IS NULL OR post.id = :id)
  AND (:content_id IS NULL OR post.content_id = :content_id)
  AND (:network IS NULL OR post.network = :network)
  AND (:account IS NULL OR post.account = :account)
  AND (:brand IS NULL OR job.brand = :brand)
  AND (:states IS NULL OR job.state IN (SELECT value FROM json_each(:states)))
  AND (:before IS NULL OR post.id < :before)
ORDER BY post.id DESC
LIMIT :limit
