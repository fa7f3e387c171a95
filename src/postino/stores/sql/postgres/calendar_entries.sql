SELECT post.id, post.network, post.account, post.scheduled_at,
       CASE post.phase WHEN 'live' THEN job.state ELSE post.phase END AS state, content.text AS content
FROM unnest(:ids::uuid[]) AS wanted (id)
JOIN postino.posts AS post ON post.id = wanted.id
JOIN postino.contents AS content ON content.id = post.content_id
LEFT JOIN postino.jobs AS job ON job.id = post.id AND post.phase = 'live'
