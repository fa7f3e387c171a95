-- name: remove_dead_worker
-- Only if its heartbeats still stand where the observer saw them stop: a worker that sent one since is alive.
DELETE FROM postino.workers WHERE id = :id AND heartbeats = :heartbeats RETURNING id AS worker, suspect

-- name: archive_posts
-- Runs before prune_history: posts are never pruned.
INSERT INTO postino.archived_jobs SELECT job.* FROM postino.finished_jobs AS job
  JOIN postino.posts AS post ON post.id = job.id
WHERE job.finished_at < :now - make_interval(days => :finished_days);
DELETE FROM postino.finished_jobs
WHERE finished_at < :now - make_interval(days => :finished_days)
  AND id IN (SELECT id FROM postino.posts)

-- name: prune_history
-- A bounded number of rows per run, because everybody else waits for the one writer.
DELETE FROM postino.finished_jobs WHERE rowid IN (
    SELECT rowid FROM postino.finished_jobs WHERE finished_at < :now - make_interval(days => :finished_days) LIMIT 1000
) RETURNING 1 AS pruned, 0 AS made;
DELETE FROM postino.attempts WHERE rowid IN (
    SELECT rowid FROM postino.attempts WHERE ended_at < :now - make_interval(days => :finished_days) LIMIT 1000
) RETURNING 1 AS pruned, 0 AS made;
DELETE FROM postino.events WHERE seq IN (
    SELECT seq FROM postino.events WHERE at < :now - make_interval(days => :event_days) LIMIT 1000
) RETURNING 1 AS pruned, 0 AS made

-- name: prune_dead_letters
DELETE FROM postino.dead_letters WHERE rowid IN (
    SELECT rowid FROM postino.dead_letters
    WHERE resolved_at < :now - make_interval(days => :dead_letter_days)
    LIMIT 1000
) RETURNING id
