-- So many of each brand at most, the latest of them.
SELECT wanted.brand, job.state, count(*)::int AS posts
FROM unnest(:brands::text[]) AS wanted (brand)
CROSS JOIN LATERAL (
    (SELECT state FROM postino.jobs AS live
     WHERE live.brand = wanted.brand AND live.type = 'postino.post' ORDER BY live.id DESC LIMIT :most)
    UNION ALL
    (SELECT state FROM postino.finished AS past
     WHERE past.brand = wanted.brand AND past.type = 'postino.post' AND NOT past.superseded
     ORDER BY past.id DESC LIMIT :most)
) AS job
GROUP BY wanted.brand, job.state
ORDER BY wanted.brand, job.state
