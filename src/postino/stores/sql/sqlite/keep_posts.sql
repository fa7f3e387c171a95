-- Moved before the rest is deleted: posts are never pruned.
INSERT INTO postino_kept SELECT job.* FROM postino_finished AS job JOIN postino_posts AS post ON post.id = job.id
WHERE job.finished_at < strftime('%Y-%m-%dT%H:%M:%f', :now, '-' || :finished_days || ' days');
DELETE FROM postino_finished
WHERE finished_at < strftime('%Y-%m-%dT%H:%M:%f', :now, '-' || :finished_days || ' days')
  AND id IN (SELECT id FROM postino_posts)
