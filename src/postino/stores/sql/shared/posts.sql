-- name: update_post
UPDATE postino.posts SET content_id = :content_id, fingerprint = :fingerprint, publish_until_at = :publish_until_at
WHERE id = :id
RETURNING id

-- name: take_missed_posts
-- What was to be out by now and of which nothing is or may be out; out of everybody's reach until the end of this transaction.
UPDATE postino.jobs SET state = 'uncertain'
WHERE state = 'pending' AND id IN (
    SELECT job.id FROM postino.posts AS post JOIN postino.jobs AS job ON job.id = post.id
    WHERE post.publish_until_at <= :now AND job.state = 'pending' AND job.lookup_at IS NULL
      AND NOT EXISTS (
          SELECT 1 FROM postino.receipts WHERE job_id = job.id AND verdict = 'accepted'
      )
      AND job.generation = 1  -- a person who replays it wants it all the same
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
-- Only the version that was read: two who change it at once do not undo each other's changes.
UPDATE postino.drafts SET body = :body, brand = :brand, version = version + 1, changed_at = :now
WHERE id = :id AND version = :version
RETURNING *

-- name: delete_draft
-- Only the version that was read: a change that came between is not lost with it.
DELETE FROM postino.drafts WHERE id = :id AND version = :version RETURNING *

-- name: list_drafts
SELECT * FROM (
    SELECT * FROM postino.drafts WHERE :brand::text IS NULL AND id < :before ORDER BY id DESC LIMIT :limit
) AS of_all
UNION ALL
SELECT * FROM (
    SELECT * FROM postino.drafts WHERE brand = :brand AND id < :before ORDER BY id DESC LIMIT :limit
) AS of_brand
