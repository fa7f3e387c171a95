-- What is to be told beside the job.
SELECT post.id, post.content_id, post.publish_until_at, content.text AS content, content.version, account.state AS account_state
FROM json_each(:ids) AS wanted
CROSS JOIN postino_posts AS post ON post.id = wanted.value
JOIN postino_contents AS content ON content.id = post.content_id
LEFT JOIN postino_accounts AS account ON account.id = post.account
