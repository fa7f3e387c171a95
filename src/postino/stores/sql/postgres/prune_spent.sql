DELETE FROM postino.spent WHERE at < coalesce(:now::timestamptz, now()) - make_interval(days => 40)
