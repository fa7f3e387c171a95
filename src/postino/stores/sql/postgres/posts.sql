-- What is to be told beside the job.
SELECT post.id, post.content_id, post.publish_until_at, content.text AS content, content.version, account.state AS account_state
FROM unnest(:ids::uuid[]) AS wanted (id)
JOIN postino.posts AS post ON post.id = wanted.id
JOIN postino.contents AS content ON content.id = post.content_id
LEFT JOIN postino.accounts AS account ON account.id = post.account
