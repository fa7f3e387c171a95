-- name: insert_contents
INSERT INTO postino.contents (id, text, search_text, brand, user_id, version, created_at)
SELECT id, text, search_text, brand, user_id, version, :now
FROM unnest(:id::uuid[], :text::text[], :search_text::text[], :brand::text[], :user_id::text[], :version::int[])
    AS i (id, text, search_text, brand, user_id, version)
ON CONFLICT (id) DO NOTHING

-- name: insert_posts
-- Runs after insert_jobs: brand and time are the job's.
INSERT INTO postino.posts (id, content_id, network, account, fingerprint, publish_until_at, brand, scheduled_at,
  created_at)
SELECT i.id, i.content_id, i.network, i.account, i.fingerprint, i.publish_until_at, job.brand, job.scheduled_at,
       :now
FROM unnest(:id::uuid[], :content_id::uuid[], :network::text[], :account::text[], :fingerprint::text[],
            :publish_until_at::timestamptz[])
    AS i (id, content_id, network, account, fingerprint, publish_until_at)
JOIN postino.jobs AS job ON job.id = i.id
ON CONFLICT (id) DO NOTHING
RETURNING id, (SELECT account.state FROM postino.accounts AS account WHERE account.id = posts.account) AS account_state

-- name: find_posts
-- What a response shows of posts beside their jobs. The text of a content is in one row of its posts: others share it.
SELECT post.id, post.content_id, post.publish_until_at, content.version, account.state AS account_state,
  CASE row_number() OVER (PARTITION BY content.id) WHEN 1 THEN content.text END AS content
FROM unnest(:ids::uuid[]) AS input (id)
JOIN postino.posts AS post ON post.id = input.id
JOIN postino.contents AS content ON content.id = post.content_id
LEFT JOIN postino.accounts AS account ON account.id = post.account

-- name: measure_posts
SELECT post.id, octet_length(content.text) AS bytes
FROM unnest(:ids::uuid[]) AS input (id)
JOIN postino.posts AS post ON post.id = input.id
JOIN postino.contents AS content ON content.id = post.content_id

-- name: scan_posts
-- Newest first. :way names the index to use; the other branches are not started. Reads at most :scan posts, whether
-- they match or not, and always returns the last one read: the next page starts there. Phase and id are compared as a
-- row, so that the planner cannot choose an index without the phase.
WITH walked AS MATERIALIZED (
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'account' AND account = :account AND (phase, id) < (:phase, :before)
          AND (phase, id) >= (:phase, '00000000-0000-0000-0000-000000000000'::uuid)
        ORDER BY phase DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'brand' AND brand = :brand AND (phase, id) < (:phase, :before)
          AND (phase, id) >= (:phase, '00000000-0000-0000-0000-000000000000'::uuid)
        ORDER BY phase DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'network' AND (network, phase, id) < (:network, :phase, :before)
          AND (network, phase, id) >= (:network, :phase, '00000000-0000-0000-0000-000000000000'::uuid)
        ORDER BY network DESC, phase DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'phase' AND (phase, id) < (:phase, :before)
          AND (phase, id) >= (:phase, '00000000-0000-0000-0000-000000000000'::uuid)
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
), checked AS (
    SELECT id, scheduled_at,
        (:network::text IS NULL OR network = :network) AND (:account::text IS NULL OR account = :account)
        AND (:brands::text[] IS NULL OR brand = ANY (:brands))
        AND (:content_id::uuid IS NULL OR content_id = :content_id)
        AND (:phases::text[] IS NULL OR phase = ANY (:phases) AND (phase <> 'live' OR coalesce((
            SELECT job.state = ANY (:states::text[]) FROM postino.jobs AS job WHERE job.id = walked.id
        ), false)))
        AND (:words::text IS NULL OR coalesce((
            SELECT position(:words IN content.search_text) > 0 FROM postino.contents AS content
              WHERE content.id = content_id
        ), false)) AS fits
    FROM walked
)
SELECT id, scheduled_at, fits, (SELECT count(*) FROM walked) AS walked
FROM checked
WHERE fits OR id = (SELECT id FROM walked ORDER BY id LIMIT 1)
ORDER BY id DESC

-- name: scan_posts_by_time
-- Latest scheduled time first; otherwise like scan_posts.
WITH walked AS MATERIALIZED (
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'all' AND scheduled_at >= :from_at
          AND (scheduled_at, id) < (:before_at::timestamptz, :before::uuid)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'account' AND account = :account AND scheduled_at >= :from_at
          AND (scheduled_at, id) < (:before_at::timestamptz, :before::uuid)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way::text = 'brand' AND brand = :brand AND scheduled_at >= :from_at
          AND (scheduled_at, id) < (:before_at::timestamptz, :before::uuid)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    (SELECT post.id, post.scheduled_at, post.brand, post.network, post.account, post.phase, post.content_id
        FROM postino.jobs AS job JOIN postino.posts AS post ON post.id = job.id
        WHERE :way::text = 'busy' AND job.state <> 'pending' AND job.state = ANY (:busy::text[])
          AND post.scheduled_at >= :from_at AND (post.scheduled_at, post.id) < (:before_at::timestamptz, :before::uuid)
        ORDER BY post.scheduled_at DESC, post.id DESC LIMIT :scan)
), checked AS (
    SELECT id, scheduled_at,
        (:network::text IS NULL OR network = :network) AND (:account::text IS NULL OR account = :account)
        AND (:brands::text[] IS NULL OR brand = ANY (:brands))
        AND (:content_id::uuid IS NULL OR content_id = :content_id)
        AND (:phases::text[] IS NULL OR phase = ANY (:phases) AND (phase <> 'live' OR coalesce((
            SELECT job.state = ANY (:states::text[]) FROM postino.jobs AS job WHERE job.id = walked.id
        ), false)))
        AND (:words::text IS NULL OR coalesce((
            SELECT position(:words IN content.search_text) > 0 FROM postino.contents AS content
              WHERE content.id = content_id
        ), false)) AS fits
    FROM walked
)
SELECT id, scheduled_at, fits, (SELECT count(*) FROM walked) AS walked
FROM checked
WHERE fits OR id = (SELECT id FROM walked ORDER BY scheduled_at, id LIMIT 1)
ORDER BY scheduled_at DESC, id DESC

-- name: find_calendar_posts
-- The first posts of each day. Without a brand the first branch reads all posts; the second reads one brand's.
SELECT input.day, candidate.id, candidate.scheduled_at
FROM unnest(:day::int[], :from_at::timestamptz[], :to_at::timestamptz[], :brand::text[])
    AS input (day, from_at, to_at, brand)
CROSS JOIN LATERAL (
    (SELECT id, scheduled_at FROM postino.posts
     WHERE input.brand IS NULL AND scheduled_at >= input.from_at AND scheduled_at < input.to_at
     ORDER BY scheduled_at, id LIMIT :limit)
    UNION ALL
    (SELECT id, scheduled_at FROM postino.posts
     WHERE brand = input.brand AND scheduled_at >= input.from_at AND scheduled_at < input.to_at
     ORDER BY scheduled_at, id LIMIT :limit)
) AS candidate

-- name: get_calendar_entries
SELECT post.id, post.network, post.account, post.scheduled_at,
       CASE post.phase WHEN 'live' THEN job.state ELSE post.phase END AS state, content.text AS content
FROM unnest(:ids::uuid[]) AS input (id)
JOIN postino.posts AS post ON post.id = input.id
JOIN postino.contents AS content ON content.id = post.content_id
LEFT JOIN postino.jobs AS job ON job.id = post.id AND post.phase = 'live'

-- name: count_calendar_posts
-- Posts of each day, counted up to :most: no page shows more.
SELECT input.day, (
    SELECT count(*) FROM (
        (SELECT 1 FROM postino.posts WHERE input.brand IS NULL AND scheduled_at >= input.from_at
          AND scheduled_at < input.to_at
         LIMIT :most)
        UNION ALL
        (SELECT 1 FROM postino.posts WHERE brand = input.brand AND scheduled_at >= input.from_at
          AND scheduled_at < input.to_at
         LIMIT :most)
    ) AS counted
) AS posts
FROM unnest(:day::int[], :from_at::timestamptz[], :to_at::timestamptz[], :brand::text[])
    AS input (day, from_at, to_at, brand)

-- name: lock_fingerprints
-- Concurrent requests for the same post wait for each other here, in the order of their names, so that none deadlock.
SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM (SELECT unnest(:names::text[]) AS name ORDER BY 1) AS named

-- name: find_duplicates
-- The same content on the same account, published now: not ended, however long ago, or published moments ago. Rows of
-- earlier releases do not say whether they are scheduled; those of the future are, unless a clock was set back.
SELECT post.id, post.account, post.brand
FROM unnest(:account::text[], :fingerprint::text[]) AS input (account, fingerprint)
JOIN postino.posts AS post ON post.account = input.account AND post.fingerprint = input.fingerprint
WHERE post.phase = 'live' AND post.scheduled_at <= greatest(:now, post.created_at)
UNION ALL
SELECT post.id, post.account, post.brand
FROM unnest(:account::text[], :fingerprint::text[]) AS input (account, fingerprint)
JOIN postino.posts AS post ON post.account = input.account AND post.fingerprint = input.fingerprint
WHERE post.phase = 'completed' AND post.ended_at > :now - make_interval(secs => :seconds)
ORDER BY id DESC

-- name: find_responses
SELECT answer.caller, answer.key, request_hash, endpoint, status, body, created_at
FROM unnest(:caller::text[], :key::text[]) AS input (caller, key)
JOIN postino.stored_responses AS answer ON answer.caller = input.caller AND answer.key = input.key

-- name: reserve_responses
-- The first request with a key inserts the row; a concurrent one waits here until the first commits. In the order of
-- the keys, so that requests with the same keys wait for each other instead of deadlocking.
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
