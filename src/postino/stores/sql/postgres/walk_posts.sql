-- The newest first. One way in, which :way names; the others are not even begun. At most :scan posts are
-- walked over, whatever fits: the last of them comes back too, because that is where to go on.
-- (What few posts may have is compared as a row with the id: else an index without it would be walked in vain.)
WITH walked AS MATERIALIZED (
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'account' AND account = :account AND (phase, id) < (:phase, :before) AND (phase, id) >= (:phase, '00000000-0000-0000-0000-000000000000'::uuid)
        ORDER BY phase DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'brand' AND brand = :brand AND (phase, id) < (:phase, :before) AND (phase, id) >= (:phase, '00000000-0000-0000-0000-000000000000'::uuid)
        ORDER BY phase DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'network' AND (network, phase, id) < (:network, :phase, :before) AND (network, phase, id) >= (:network, :phase, '00000000-0000-0000-0000-000000000000'::uuid)
        ORDER BY network DESC, phase DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'phase' AND (phase, id) < (:phase, :before) AND (phase, id) >= (:phase, '00000000-0000-0000-0000-000000000000'::uuid)
        ORDER BY phase DESC, id DESC LIMIT :scan)
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
        AND (:phases::text[] IS NULL OR phase = ANY (:phases) AND (phase <> 'live' OR coalesce((
            SELECT job.state = ANY (:states::text[]) FROM postino.jobs AS job WHERE job.id = walked.id
        ), false)))
        AND (:words::text IS NULL OR coalesce((
            SELECT position(:words IN content.words) > 0 FROM postino.contents AS content WHERE content.id = content_id
        ), false)) AS fits
    FROM walked
)
SELECT id, scheduled_at, fits, (SELECT count(*) FROM walked) AS walked
FROM judged
WHERE fits OR id = (SELECT id FROM walked ORDER BY id LIMIT 1)
ORDER BY id DESC
