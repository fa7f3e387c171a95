-- The newest first. One way in, which :way names; the others are not even begun. At most :scan posts are
-- walked over, whatever fits: the last of them comes back too, because that is where to go on.
WITH walked AS MATERIALIZED (
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'account' AND account = :account AND phase = :phase AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'brand' AND brand = :brand AND phase = :phase AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'network' AND network = :network AND phase = :phase AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'phase' AND phase = :phase AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'content' AND content_id = :content_id AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    (SELECT post.id, post.scheduled_at, post.brand, post.network, post.account, post.phase, post.content_id
        FROM postino.jobs AS job JOIN postino.posts AS post ON post.id = job.id
        WHERE :way::text = 'busy' AND job.state <> 'pending' AND job.state = ANY (:busy::text[]) AND post.id < :before
        ORDER BY post.id DESC LIMIT :scan)
), judged AS (
    SELECT id, scheduled_at,
        (:network::text IS NULL OR network = :network) AND (:account::text IS NULL OR account = :account)
        AND (:brands::text[] IS NULL OR brand = ANY (:brands))
        AND (:content_id::uuid IS NULL OR content_id = :content_id)
        AND (:phases::text[] IS NULL OR phase = ANY (:phases) AND (phase <> 'live' OR EXISTS (
            SELECT FROM postino.jobs AS job WHERE job.id = walked.id AND job.state = ANY (:states::text[])
        )))
        AND (:words::text IS NULL OR EXISTS (
            SELECT FROM postino.contents AS content WHERE content.id = content_id AND position(:words IN content.words) > 0
        )) AS fits
    FROM walked
)
SELECT id, scheduled_at, fits, (SELECT count(*) FROM walked) AS walked
FROM judged
WHERE fits OR id = (SELECT id FROM walked ORDER BY id LIMIT 1)
ORDER BY id DESC
