-- Checked long ago, and never saved.
DELETE FROM postino.imports WHERE state = 'checked' AND changed_at < coalesce(:now::timestamptz, now()) - make_interval(days => :days)
