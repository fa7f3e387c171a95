-- name: remove_dead_worker
-- Only if its heartbeats still stand where the observer saw them stop: a worker that sent one since is alive. Rows that
-- another rescue holds are skipped: waiting for a worker that is frozen in its rescue would stop all the others.
DELETE FROM postino.workers WHERE id = ANY (ARRAY (
    SELECT worker.id FROM postino.workers AS worker
    JOIN unnest(:id::text[], :heartbeats::bigint[]) AS dead (id, heartbeats)
        ON worker.id = dead.id AND worker.heartbeats = dead.heartbeats
    FOR UPDATE OF worker SKIP LOCKED
))
RETURNING id AS worker, suspect::text AS suspect

-- name: archive_posts
-- Runs before prune_history: posts are never pruned.
WITH moved AS (
    DELETE FROM postino.finished_jobs AS job USING postino.posts AS post
    WHERE post.id = job.id AND job.finished_at < :now - make_interval(days => :finished_days)
    RETURNING job.*
)
INSERT INTO postino.archived_jobs SELECT * FROM moved

-- name: prune_history
-- Drops whole partitions.
SELECT postino.make_partitions(9) AS made,
       postino.drop_partitions('finished_jobs', :now - make_interval(days => :finished_days))
     + postino.drop_partitions('attempts', :now - make_interval(days => :finished_days))
     + postino.drop_partitions('events', :now - make_interval(days => :event_days)) AS pruned

-- name: prune_dead_letters
WITH old AS (
    SELECT id, generation FROM postino.dead_letters
    WHERE resolved_at < :now - make_interval(days => :dead_letter_days)
    LIMIT 1000
)
DELETE FROM postino.dead_letters AS letter USING old
WHERE letter.id = old.id AND letter.generation = old.generation
RETURNING letter.id
