-- The id as a value, not as a join: only a value finds its way to the indexes below the view.
SELECT job.*, post.content_id, post.publish_until_at, content.text AS content, content.version, account.state AS account_state
FROM postino_posts AS post
JOIN postino_stored_jobs AS job ON job.id = :id
JOIN postino_contents AS content ON content.id = post.content_id
LEFT JOIN postino_accounts AS account ON account.id = post.account
WHERE post.id = :id
