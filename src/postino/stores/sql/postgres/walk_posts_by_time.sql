-- By time, the latest first. One way in, which :way names; the others are not even begun. At most :scan posts are
-- walked over, whatever fits: the last of them comes back too, because that is where to go on.
WITH walked AS MATERIALIZED (
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'all' AND scheduled_at >= :from_at AND (scheduled_at, id) < (:before_at::timestamptz, :before::uuid)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'account' AND account = :account AND scheduled_at >= :from_at AND (scheduled_at, id) < (:before_at::timestamptz, :before::uuid)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'brand' AND brand = :brand AND scheduled_at >= :from_at AND (scheduled_at, id) < (:before_at::timestamptz, :before::uuid)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT post.id, post.scheduled_at, post.brand, post.network, post.account, post.phase, post.content_id
        FROM postino.jobs AS job JOIN postino.posts AS post ON post.id = job.id
        WHERE :way::text = 'busy' AND job.state <> 'pending' AND job.state = ANY (:busy::text[]) AND post.scheduled_at >= :from_at AND (post.scheduled_at, post.id) < (:before_at::timestamptz, :before::uuid)
        ORDER BY post.scheduled_at DESC, post.id DESC LIMIT :scan)
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
WHERE fits OR id = (SELECT id FROM walked ORDER BY scheduled_at, id LIMIT 1)
ORDER BY scheduled_at DESC, id DESC
