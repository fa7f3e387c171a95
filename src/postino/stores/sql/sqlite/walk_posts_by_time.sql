-- By time, the latest first. One way in, which :way names; the others are not even begun. At most :scan posts are
-- walked over, whatever fits: the last of them comes back too, because that is where to go on.
WITH walked AS MATERIALIZED (
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino_posts
        WHERE :way = 'all' AND scheduled_at >= :from_at AND (scheduled_at, id) < (:before_at, :before)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino_posts
        WHERE :way = 'account' AND account = :account AND scheduled_at >= :from_at AND (scheduled_at, id) < (:before_at, :before)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino_posts
        WHERE :way = 'brand' AND brand = :brand AND scheduled_at >= :from_at AND (scheduled_at, id) < (:before_at, :before)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT post.id, post.scheduled_at, post.brand, post.network, post.account, post.phase, post.content_id
        FROM (
            SELECT id FROM postino_jobs INDEXED BY postino_jobs_running
            WHERE state = 'running' AND 'running' IN (SELECT value FROM json_each(:busy))
            UNION ALL
            SELECT id FROM postino_jobs INDEXED BY postino_jobs_uncertain
            WHERE state = 'uncertain' AND 'uncertain' IN (SELECT value FROM json_each(:busy))
        ) AS job CROSS JOIN postino_posts AS post ON post.id = job.id
        WHERE :way = 'busy' AND post.scheduled_at >= :from_at AND (post.scheduled_at, post.id) < (:before_at, :before)
        ORDER BY post.scheduled_at DESC, post.id DESC LIMIT :scan)
), judged AS (
    SELECT id, scheduled_at,
        (:network IS NULL OR network = :network) AND (:account IS NULL OR account = :account)
        AND (:brands IS NULL OR brand IN (SELECT value FROM json_each(:brands)))
        AND (:content_id IS NULL OR content_id = :content_id)
        AND (:phases IS NULL OR phase IN (SELECT value FROM json_each(:phases)) AND (phase <> 'live' OR EXISTS (
            SELECT 1 FROM postino_jobs AS job
            WHERE job.id = walked.id AND job.state IN (SELECT value FROM json_each(:states))
        )))
        AND (:words IS NULL OR EXISTS (
            SELECT 1 FROM postino_contents AS content WHERE content.id = content_id AND instr(content.words, :words) > 0
        )) AS fits
    FROM walked
)
SELECT id, scheduled_at, fits, (SELECT count(*) FROM walked) AS walked
FROM judged
WHERE fits OR id = (SELECT id FROM walked ORDER BY scheduled_at, id LIMIT 1)
ORDER BY scheduled_at DESC, id DESC
