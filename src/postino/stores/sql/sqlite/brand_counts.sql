-- So many of each brand at most, the latest of them.
SELECT wanted.value AS brand, state.value AS state, CASE WHEN state.value IN ('pending', 'running', 'uncertain')
    THEN (SELECT count(*) FROM (
        SELECT live.state AS state FROM postino_jobs AS live
        WHERE live.brand = wanted.value AND live.type = 'postino.post' ORDER BY live.id DESC LIMIT :most
    ) AS latest WHERE latest.state = state.value)
    ELSE (SELECT count(*) FROM (
        SELECT past.state AS state FROM postino_finished AS past
        WHERE past.brand = wanted.value AND past.type = 'postino.post' AND NOT past.superseded
        ORDER BY past.id DESC LIMIT :most
    ) AS latest WHERE latest.state = state.value) END AS posts
FROM json_each(:brands) AS wanted
CROSS JOIN json_each('["pending", "running", "uncertain", "completed", "failed", "cancelled"]') AS state
ORDER BY wanted.value, state.value
