SELECT post.id, post.network, post.account, post.scheduled_at,
       CASE post.phase WHEN 'live' THEN job.state ELSE post.phase END AS state, content.text AS content
FROM json_each(:ids) AS wanted
CROSS JOIN postino_posts AS post ON post.id = wanted.value
JOIN postino_contents AS content ON content.id = post.content_id
LEFT JOIN postino_jobs AS job ON job.id = post.id AND post.phase = 'live'
