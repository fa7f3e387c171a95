-- Newest first; what a filter does not say does not matter.
SELECT job.*, post.content_id, post.publish_until_at, content.text AS content, content.version, account.state AS account_state
FROM postino.posts AS post
JOIN postino.stored_jobs AS job ON job.id = post.id
JOIN postino.contents AS content ON content.id = post.content_id
LEFT JOIN postino.accounts AS account ON account.id = post.account
WHERE (:id::uuid IS NULL OR post.id = :id)
  AND (:content_id::uuid IS NULL OR post.content_id = :content_id)
  AND (:network::text IS NULL OR post.network = :network)
  AND (:account::text IS NULL OR post.account = :account)
  AND (:brand::text IS NULL OR job.brand = :brand)
  AND (:states::text[] IS NULL OR job.state = ANY (:states))
  AND (:before::uuid IS NULL OR post.id < :before)
ORDER BY post.id DESC
LIMIT :limit
