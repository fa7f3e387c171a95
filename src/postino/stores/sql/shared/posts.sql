-- name: update_post
UPDATE postino.posts SET content_id = :content_id, publish_until_at = :publish_until_at, fingerprint =
    CASE WHEN fingerprint LIKE 'scheduled %' THEN 'scheduled ' || :fingerprint ELSE :fingerprint END
WHERE id = :id
RETURNING id

-- name: mark_post_scheduled
-- The fingerprint of a scheduled post begins with a word, so that it is no duplicate of a post that is published now.
UPDATE postino.posts SET fingerprint = 'scheduled ' || fingerprint WHERE id = :id AND fingerprint NOT LIKE 'scheduled %'

-- name: mark_post_immediate
UPDATE postino.posts SET fingerprint = substr(fingerprint, 11) WHERE id = :id AND fingerprint LIKE 'scheduled %'

-- name: mark_post_postponed
UPDATE postino.posts SET postponed_at = :now WHERE id = :id AND :former_at::timestamptz <= :now

-- name: take_missed_posts
-- Posts whose deadline has passed and of which the network cannot have anything. The change of state and its conditions
-- are one statement: a job claimed in between could be sent. Nobody else can claim the jobs until this transaction
-- ends.
UPDATE postino.jobs SET state = 'uncertain'
WHERE state = 'pending' AND id IN (
    SELECT job.id FROM postino.posts AS post JOIN postino.jobs AS job ON job.id = post.id
    WHERE post.publish_until_at <= :now AND job.state = 'pending' AND NOT job.may_be_live
      AND job.generation = 1  -- a replay was a person's decision
    ORDER BY job.id LIMIT 500
    FOR UPDATE OF job SKIP LOCKED
)
RETURNING *

-- name: insert_draft
INSERT INTO postino.drafts (id, brand, author, body, version, created_at, changed_at)
VALUES (:id, :brand, :author, :body, 1, :now, :now)
RETURNING *

-- name: get_draft
SELECT * FROM postino.drafts WHERE id = :id

-- name: update_draft
-- Compare-and-set on the version: a concurrent change is not overwritten.
UPDATE postino.drafts SET body = :body, brand = :brand, version = version + 1, changed_at = :now
WHERE id = :id AND version = :version
RETURNING *

-- name: delete_draft
-- Compare-and-set on the version: a concurrent change is not lost.
DELETE FROM postino.drafts WHERE id = :id AND version = :version RETURNING *

-- name: list_drafts
-- The draft that exceeds `max_bytes` is the last.
WITH page AS (
    SELECT id FROM (
        SELECT id FROM postino.drafts WHERE :brand::text IS NULL AND id < :before ORDER BY id DESC LIMIT :limit
    ) AS of_all
    UNION ALL
    SELECT id FROM (
        SELECT id FROM postino.drafts WHERE brand = :brand AND id < :before ORDER BY id DESC LIMIT :limit
    ) AS of_brand
), sized AS (
    SELECT id, coalesce(sum(length(body))
      OVER (ORDER BY id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS earlier_bytes
    FROM postino.drafts WHERE id IN (SELECT id FROM page)
)
SELECT * FROM postino.drafts WHERE id IN (SELECT id FROM sized WHERE earlier_bytes <= :max_bytes)

-- name: take_outage_posts
-- Posts without a deadline of their own whose network has been unhealthy for too long, and of which the network cannot
-- have anything. One statement, like take_missed_posts. The branches use the indexes of claims.
UPDATE postino.jobs SET state = 'uncertain'
WHERE state = 'pending' AND id IN (
    SELECT job.id FROM postino.jobs AS job
    JOIN postino.posts AS post ON post.id = job.id
    WHERE job.id IN (
        SELECT held.id FROM postino.circuits AS circuit
        CROSS JOIN postino.jobs AS held
        WHERE circuit.unhealthy_since_at <= :now - make_interval(secs => :seconds)
          AND held.channel = circuit.service AND held.state <> 'running' AND held.run_at IS NOT NULL
          AND held.lane IS NOT NULL AND NOT held.may_be_live AND NOT held.ignore_blackouts
        UNION ALL
        SELECT held.id FROM postino.circuits AS circuit
        CROSS JOIN postino.accounts AS account
        CROSS JOIN postino.jobs AS held
        WHERE circuit.unhealthy_since_at <= :now - make_interval(secs => :seconds)
          AND account.service = circuit.service AND held.channel = account.network AND held.lane = '@' || account.id
          AND held.state <> 'running' AND held.run_at IS NOT NULL
          AND held.lane IS NOT NULL AND NOT held.may_be_live AND NOT held.ignore_blackouts
        UNION ALL
        SELECT held.id FROM postino.jobs AS held
        LEFT JOIN postino.accounts AS account ON account.id = held.account AND account.network = held.channel
        JOIN postino.circuits AS circuit ON circuit.service IN (held.channel, account.service)
        WHERE circuit.unhealthy_since_at <= :now - make_interval(secs => :seconds)
          AND held.state <> 'running' AND held.run_at IS NOT NULL AND held.lane IS NOT NULL
          AND (held.may_be_live OR held.ignore_blackouts)
    ) AND post.publish_until_at IS NULL AND job.state = 'pending' AND NOT job.may_be_live
      AND job.scheduled_at <= :now - make_interval(secs => :seconds)
      AND job.generation = 1  -- a replay was a person's decision
    ORDER BY job.id LIMIT 500
    FOR UPDATE OF job SKIP LOCKED
)
RETURNING *
