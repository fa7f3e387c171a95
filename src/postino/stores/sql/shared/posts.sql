-- name: update_post
UPDATE postino.posts SET content_id = :content_id, fingerprint = :fingerprint, publish_until_at = :publish_until_at
WHERE id = :id
RETURNING id

-- name: take_missed_posts
-- Posts whose deadline has passed and of which the network cannot have anything. The change of state and its conditions
-- are one statement: a job claimed in between could be sent. Nobody else can claim the jobs until this transaction
-- ends.
UPDATE postino.jobs SET state = 'uncertain'
WHERE state = 'pending' AND id IN (
    SELECT job.id FROM postino.posts AS post JOIN postino.jobs AS job ON job.id = post.id
    WHERE post.publish_until_at <= :now AND job.state = 'pending' AND job.lookup_at IS NULL
      AND NOT EXISTS (
          SELECT 1 FROM postino.receipts WHERE job_id = job.id AND verdict = 'accepted'
      )
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
SELECT * FROM (
    SELECT * FROM postino.drafts WHERE :brand::text IS NULL AND id < :before ORDER BY id DESC LIMIT :limit
) AS of_all
UNION ALL
SELECT * FROM (
    SELECT * FROM postino.drafts WHERE brand = :brand AND id < :before ORDER BY id DESC LIMIT :limit
) AS of_brand

-- name: take_given_up_posts
-- Posts without a deadline of their own whose network has been unhealthy for too long, and of which the network cannot
-- have anything. One statement, like take_missed_posts.
UPDATE postino.jobs SET state = 'uncertain'
WHERE state = 'pending' AND id IN (
    SELECT job.id FROM postino.circuits AS circuit
    JOIN postino.jobs AS job ON job.channel = circuit.service
    JOIN postino.posts AS post ON post.id = job.id
    WHERE circuit.unhealthy_since_at <= :now - make_interval(secs => :seconds) AND post.publish_until_at IS NULL
      AND job.state = 'pending' AND job.lookup_at IS NULL
      AND job.scheduled_at <= :now - make_interval(secs => :seconds) AND NOT EXISTS (
          SELECT 1 FROM postino.receipts WHERE job_id = job.id AND verdict = 'accepted'
      )
      AND job.generation = 1  -- a replay was a person's decision
    ORDER BY job.id LIMIT 500
    FOR UPDATE OF job SKIP LOCKED
)
RETURNING *
