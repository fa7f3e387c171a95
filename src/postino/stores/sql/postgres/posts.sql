-- name: insert_contents
INSERT INTO postino.contents (id, text, search_text, brand, user_id, version, created_at)
SELECT id, text, search_text, brand, user_id, version, :now
FROM unnest(:id::uuid[], :text::text[], :search_text::text[], :brand::text[], :user_id::text[], :version::int[])
    AS i (id, text, search_text, brand, user_id, version)
ON CONFLICT (id) DO NOTHING

-- name: insert_posts
-- After its job, which knows best when it is to go out.
INSERT INTO postino.posts (id, content_id, network, account, fingerprint, publish_until_at, brand, scheduled_at, created_at)
SELECT i.id, i.content_id, i.network, i.account, i.fingerprint, i.publish_until_at, job.brand, job.scheduled_at,
       :now
FROM unnest(:id::uuid[], :content_id::uuid[], :network::text[], :account::text[], :fingerprint::text[],
            :publish_until_at::timestamptz[])
    AS i (id, content_id, network, account, fingerprint, publish_until_at)
JOIN postino.jobs AS job ON job.id = i.id
ON CONFLICT (id) DO NOTHING
RETURNING id, (SELECT account.state FROM postino.accounts AS account WHERE account.id = posts.account) AS account_state

-- name: find_posts
-- What is to be told beside the job.
SELECT post.id, post.content_id, post.publish_until_at, content.text AS content, content.version, account.state AS account_state
FROM unnest(:ids::uuid[]) AS wanted (id)
JOIN postino.posts AS post ON post.id = wanted.id
JOIN postino.contents AS content ON content.id = post.content_id
LEFT JOIN postino.accounts AS account ON account.id = post.account

-- name: scan_posts
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
            SELECT position(:words IN content.search_text) > 0 FROM postino.contents AS content WHERE content.id = content_id
        ), false)) AS fits
    FROM walked
)
SELECT id, scheduled_at, fits, (SELECT count(*) FROM walked) AS walked
FROM judged
WHERE fits OR id = (SELECT id FROM walked ORDER BY id LIMIT 1)
ORDER BY id DESC

-- name: scan_posts_by_time
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
            SELECT position(:words IN content.search_text) > 0 FROM postino.contents AS content WHERE content.id = content_id
        ), false)) AS fits
    FROM walked
)
SELECT id, scheduled_at, fits, (SELECT count(*) FROM walked) AS walked
FROM judged
WHERE fits OR id = (SELECT id FROM walked ORDER BY scheduled_at, id LIMIT 1)
ORDER BY scheduled_at DESC, id DESC

-- name: find_calendar_posts
-- The first posts of each day that is asked for, by time. (Those without a brand come in by the first way only.)
SELECT wanted.day, found.id, found.scheduled_at
FROM unnest(:day::int[], :from_at::timestamptz[], :to_at::timestamptz[], :brand::text[]) AS wanted (day, from_at, to_at, brand)
CROSS JOIN LATERAL (
    (SELECT id, scheduled_at FROM postino.posts
     WHERE wanted.brand IS NULL AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
     ORDER BY scheduled_at, id LIMIT :limit)
    UNION ALL
    (SELECT id, scheduled_at FROM postino.posts
     WHERE brand = wanted.brand AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
     ORDER BY scheduled_at, id LIMIT :limit)
) AS found

-- name: get_calendar_entries
SELECT post.id, post.network, post.account, post.scheduled_at,
       CASE post.phase WHEN 'live' THEN job.state ELSE post.phase END AS state, content.text AS content
FROM unnest(:ids::uuid[]) AS wanted (id)
JOIN postino.posts AS post ON post.id = wanted.id
JOIN postino.contents AS content ON content.id = post.content_id
LEFT JOIN postino.jobs AS job ON job.id = post.id AND post.phase = 'live'

-- name: count_calendar_posts
-- How many there are on each day, counted up to :most: what is beyond nobody reads on one page.
SELECT wanted.day, (
    SELECT count(*) FROM (
        (SELECT 1 FROM postino.posts WHERE wanted.brand IS NULL AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
         LIMIT :most)
        UNION ALL
        (SELECT 1 FROM postino.posts WHERE brand = wanted.brand AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
         LIMIT :most)
    ) AS counted
) AS posts
FROM unnest(:day::int[], :from_at::timestamptz[], :to_at::timestamptz[], :brand::text[]) AS wanted (day, from_at, to_at, brand)

-- name: lock_fingerprints
-- Two clicks at once wait for each other here; in the order of their names, so that nobody waits in a circle.
SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM (SELECT unnest(:names::text[]) AS name ORDER BY 1) AS named

-- name: find_duplicates
-- The same by the same account moments ago, unless it failed or was cancelled.
SELECT post.id, post.account
FROM unnest(:account::text[], :fingerprint::text[]) AS wanted (account, fingerprint)
JOIN postino.posts AS post ON post.account = wanted.account AND post.fingerprint = wanted.fingerprint
CROSS JOIN LATERAL (SELECT * FROM postino.stored_jobs WHERE id = post.id OFFSET 0) AS job
WHERE greatest(post.created_at, job.scheduled_at, job.finished_at) > :now - make_interval(secs => :seconds)
  AND job.state NOT IN ('failed', 'cancelled') AND job.scheduled_at <= :now
ORDER BY post.created_at DESC

-- name: find_responses
SELECT answer.caller, answer.key, request_hash, endpoint, status, body, created_at
FROM unnest(:caller::text[], :key::text[]) AS wanted (caller, key)
JOIN postino.stored_responses AS answer ON answer.caller = wanted.caller AND answer.key = wanted.key

-- name: reserve_responses
-- Who comes first with a key makes it; whoever comes at the same time waits here until that is over.
-- In the order of the keys, so that two who bring the same ones wait for each other instead of deadlocking.
INSERT INTO postino.stored_responses (caller, key, request_hash, endpoint, created_at)
SELECT caller, key, request_hash, endpoint, :now
FROM unnest(:caller::text[], :key::text[], :request_hash::text[], :endpoint::text[]) WITH ORDINALITY
    AS i (caller, key, request_hash, endpoint, position)
ORDER BY caller, key, position
ON CONFLICT (caller, key) DO NOTHING
RETURNING caller, key

-- name: save_responses
UPDATE postino.stored_responses AS response SET status = input.status, body = input.body
FROM unnest(:caller::text[], :key::text[], :status::int[], :body::text[]) AS input (caller, key, status, body)
WHERE response.caller = input.caller AND response.key = input.key

-- name: take_given_up_posts
-- What was due before a network has been in trouble for too long, where nobody said how long that is, and nothing is or may
-- be out; out of everybody's reach until the end of this transaction.
UPDATE postino.jobs SET state = 'uncertain'
WHERE state = 'pending' AND id IN (
    SELECT job.id FROM postino.circuits AS circuit
    JOIN postino.jobs AS job ON job.channel = circuit.service
    JOIN postino.posts AS post ON post.id = job.id
    WHERE circuit.unhealthy_since_at <= :now - make_interval(secs => :seconds) AND post.publish_until_at IS NULL AND job.state = 'pending' AND job.lookup_at IS NULL
      AND job.scheduled_at <= :now - make_interval(secs => :seconds) AND NOT EXISTS (
          SELECT 1 FROM postino.receipts WHERE job_id = job.id AND verdict = 'accepted'
      )
      AND job.generation = 1  -- a person who replays it wants it all the same
    ORDER BY job.id LIMIT 500
    FOR UPDATE OF job SKIP LOCKED
)
RETURNING *
