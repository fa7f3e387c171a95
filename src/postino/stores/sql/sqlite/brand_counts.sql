-- So many of each brand at most, the latest of them.
SELECT wanted.value AS brand, one.value AS state, count(*) AS posts
FROM json_each(:brands) AS wanted
JOIN json_each((
    SELECT json_group_array(state) FROM (
        SELECT state FROM (
            SELECT live.state AS state FROM postino_jobs AS live
            WHERE live.brand = wanted.value AND live.type = 'postino.post' ORDER BY live.id DESC LIMIT :most
        )
        UNION ALL
        SELECT state FROM (
            SELECT past.state AS state FROM postino_finished AS past
            WHERE past.brand = wanted.value AND past.brand IS NOT NULL AND NOT past.superseded AND past.type = 'postino.post'
            ORDER BY past.id DESC LIMIT :most
        )
    )
)) AS one
GROUP BY 1, 2
ORDER BY 1, 2
