-- name: insert_contents
INSERT INTO postino.contents (id, text, search_text, brand, user_id, version, created_at)
VALUES (:id, :text, :search_text, :brand, :user_id, :version, :now)
ON CONFLICT (id) DO NOTHING

-- name: insert_posts
-- Runs after insert_jobs: brand and time are the job's.
INSERT INTO postino.posts (id, content_id, network, account, fingerprint, publish_until_at, brand, scheduled_at,
  created_at)
SELECT :id, :content_id, :network, :account, :fingerprint, :publish_until_at, brand, scheduled_at, :now
FROM postino.jobs WHERE id = :id
ON CONFLICT (id) DO NOTHING
RETURNING id, (SELECT state FROM postino.accounts WHERE postino.accounts.id = postino.posts.account) AS account_state

-- name: find_posts
-- What a response shows of posts beside their jobs. The text of a content is in one row of its posts: others share it.
SELECT post.id, post.content_id, post.publish_until_at, content.version, account.state AS account_state,
  CASE row_number() OVER (PARTITION BY content.id) WHEN 1 THEN content.text END AS content
FROM json_each(:ids) AS input
CROSS JOIN postino.posts AS post ON post.id = input.value
JOIN postino.contents AS content ON content.id = post.content_id
LEFT JOIN postino.accounts AS account ON account.id = post.account

-- name: measure_posts
SELECT post.id, length(content.text) AS bytes
FROM json_each(:ids) AS input
CROSS JOIN postino.posts AS post ON post.id = input.value
JOIN postino.contents AS content ON content.id = post.content_id

-- name: scan_posts
-- Newest first. :way names the index to use; the other branches are not started. Reads at most :scan posts, whether
-- they match or not, and always returns the last one read: the next page starts there.
WITH walked AS MATERIALIZED (
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way = 'account' AND account = :account AND phase = :phase AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way = 'brand' AND brand = :brand AND phase = :phase AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way = 'network' AND network = :network AND phase = :phase AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way = 'phase' AND phase = :phase AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way = 'content' AND content_id = :content_id AND id < :before
        ORDER BY id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT post.id, post.scheduled_at, post.brand, post.network, post.account, post.phase,
      post.content_id
        FROM (
            SELECT id FROM postino.jobs INDEXED BY postino.jobs_running
            WHERE state = 'running' AND 'running' = ANY (:busy)
            UNION ALL
            SELECT id FROM postino.jobs INDEXED BY postino.jobs_uncertain
            WHERE state = 'uncertain' AND 'uncertain' = ANY (:busy)
        ) AS job CROSS JOIN postino.posts AS post ON post.id = job.id
        WHERE :way = 'busy' AND post.id < :before
        ORDER BY post.id DESC LIMIT :scan)
), checked AS (
    SELECT id, scheduled_at,
        (:network IS NULL OR network = :network) AND (:account IS NULL OR account = :account)
        AND (:brands IS NULL OR brand = ANY (:brands))
        AND (:content_id IS NULL OR content_id = :content_id)
        AND (:phases IS NULL OR phase = ANY (:phases) AND (phase <> 'live' OR EXISTS (
            SELECT 1 FROM postino.jobs AS job
            WHERE job.id = walked.id AND job.state = ANY (:states)
        )))
        AND (:words IS NULL OR EXISTS (
            SELECT 1 FROM postino.contents AS content WHERE content.id = content_id
              AND instr(content.search_text, :words) > 0
        )) AS fits
    FROM walked
)
SELECT id, scheduled_at, fits, (SELECT count(*) FROM walked) AS walked
FROM checked
WHERE fits OR id = (SELECT id FROM walked ORDER BY id LIMIT 1)
ORDER BY id DESC

-- name: scan_posts_by_time
-- Latest scheduled time first; otherwise like scan_posts.
WITH walked AS MATERIALIZED (
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way = 'all' AND scheduled_at >= :from_at AND (scheduled_at, id) < (:before_at, :before)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way = 'account' AND account = :account AND scheduled_at >= :from_at
          AND (scheduled_at, id) < (:before_at, :before)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT id, scheduled_at, brand, network, account, phase, content_id FROM postino.posts
        WHERE :way = 'brand' AND brand = :brand AND scheduled_at >= :from_at
          AND (scheduled_at, id) < (:before_at, :before)
        ORDER BY scheduled_at DESC, id DESC LIMIT :scan)
    UNION ALL
    SELECT * FROM (SELECT post.id, post.scheduled_at, post.brand, post.network, post.account, post.phase,
      post.content_id
        FROM (
            SELECT id FROM postino.jobs INDEXED BY postino.jobs_running
            WHERE state = 'running' AND 'running' = ANY (:busy)
            UNION ALL
            SELECT id FROM postino.jobs INDEXED BY postino.jobs_uncertain
            WHERE state = 'uncertain' AND 'uncertain' = ANY (:busy)
        ) AS job CROSS JOIN postino.posts AS post ON post.id = job.id
        WHERE :way = 'busy' AND post.scheduled_at >= :from_at AND (post.scheduled_at, post.id) < (:before_at, :before)
        ORDER BY post.scheduled_at DESC, post.id DESC LIMIT :scan)
), checked AS (
    SELECT id, scheduled_at,
        (:network IS NULL OR network = :network) AND (:account IS NULL OR account = :account)
        AND (:brands IS NULL OR brand = ANY (:brands))
        AND (:content_id IS NULL OR content_id = :content_id)
        AND (:phases IS NULL OR phase = ANY (:phases) AND (phase <> 'live' OR EXISTS (
            SELECT 1 FROM postino.jobs AS job
            WHERE job.id = walked.id AND job.state = ANY (:states)
        )))
        AND (:words IS NULL OR EXISTS (
            SELECT 1 FROM postino.contents AS content WHERE content.id = content_id
              AND instr(content.search_text, :words) > 0
        )) AS fits
    FROM walked
)
SELECT id, scheduled_at, fits, (SELECT count(*) FROM walked) AS walked
FROM checked
WHERE fits OR id = (SELECT id FROM walked ORDER BY scheduled_at, id LIMIT 1)
ORDER BY scheduled_at DESC, id DESC

-- name: find_calendar_posts
-- The first posts of each day. Without a brand the first branch reads all posts; the second reads one brand's.
SELECT * FROM (SELECT :day AS day, id, scheduled_at FROM postino.posts
               WHERE :brand IS NULL AND scheduled_at >= :from_at AND scheduled_at < :to_at
               ORDER BY scheduled_at, id LIMIT :limit)
UNION ALL
SELECT * FROM (SELECT :day AS day, id, scheduled_at FROM postino.posts
               WHERE brand = :brand AND scheduled_at >= :from_at AND scheduled_at < :to_at
               ORDER BY scheduled_at, id LIMIT :limit)

-- name: get_calendar_entries
SELECT post.id, post.network, post.account, post.scheduled_at,
       CASE post.phase WHEN 'live' THEN job.state ELSE post.phase END AS state, content.text AS content
FROM json_each(:ids) AS input
CROSS JOIN postino.posts AS post ON post.id = input.value
JOIN postino.contents AS content ON content.id = post.content_id
LEFT JOIN postino.jobs AS job ON job.id = post.id AND post.phase = 'live'

-- name: count_calendar_posts
-- Posts of each day, counted up to :most: no page shows more.
SELECT :day AS day, (
    SELECT count(*) FROM (SELECT 1 FROM postino.posts WHERE :brand IS NULL AND scheduled_at >= :from_at
      AND scheduled_at < :to_at
                          LIMIT :most)
) + (
    SELECT count(*) FROM (SELECT 1 FROM postino.posts WHERE brand = :brand AND scheduled_at >= :from_at
      AND scheduled_at < :to_at
                          LIMIT :most)
) AS posts

-- name: lock_fingerprints
-- There is one writer: nobody to wait for.
SELECT 1 WHERE cardinality(:names) < 0

-- name: find_duplicates
-- The same content on the same account, published now: not ended, however long ago, or published moments ago. Rows of
-- earlier releases do not say whether they are scheduled; those of the future are, unless a clock was set back.
SELECT id, account, brand FROM postino.posts
WHERE phase = 'live' AND account = :account AND fingerprint = :fingerprint
  AND scheduled_at <= max(:now, created_at)
UNION ALL
SELECT id, account, brand FROM postino.posts
WHERE phase = 'completed' AND account = :account AND fingerprint = :fingerprint
  AND ended_at > :now - make_interval(secs => :seconds)
ORDER BY id DESC

-- name: find_responses
SELECT caller, key, request_hash, endpoint, status, body, created_at FROM postino.stored_responses
  WHERE caller = :caller AND key = :key

-- name: reserve_responses
-- The first request with a key inserts the row.
INSERT INTO postino.stored_responses (caller, key, request_hash, endpoint, created_at)
  VALUES (:caller, :key, :request_hash, :endpoint, :now)
ON CONFLICT (caller, key) DO NOTHING
RETURNING caller, key

-- name: save_responses
UPDATE postino.stored_responses SET status = :status, body = :body WHERE caller = :caller AND key = :key
