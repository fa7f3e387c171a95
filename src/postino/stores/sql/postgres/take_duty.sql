INSERT INTO postino.duties AS known (duty, holder, held_until_at)
VALUES (:duty, :holder, coalesce(:now::timestamptz, now()) + make_interval(secs => :seconds))
ON CONFLICT (duty) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at
WHERE (known.held_until_at IS NULL OR known.held_until_at < coalesce(:now::timestamptz, now()))
  AND (known.done_at IS NULL OR known.done_at <= coalesce(:now::timestamptz, now()) - make_interval(secs => :every))
RETURNING duty
