-- Moved before the rest is dropped: posts are never pruned.
WITH moved AS (
    DELETE FROM postino.finished AS job USING postino.posts AS post
    WHERE post.id = job.id AND job.finished_at < coalesce(:now::timestamptz, now()) - make_interval(days => :finished_days)
    RETURNING job.*
)
INSERT INTO postino.kept SELECT * FROM moved
