SELECT post.id, post.network, post.account, post.scheduled_at,
       CASE post.phase WHEN 'live' THEN job.state ELSE post.phase END AS state, content.text AS content
FROM postino_posts AS post
JOIN postino_contents AS content ON content.id = post.content_id
LEFT JOIN postino_jobs AS job ON job.id = post.id
WHERE post.id = :id
