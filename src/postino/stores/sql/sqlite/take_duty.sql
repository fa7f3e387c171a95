INSERT INTO postino_duties AS known (duty, holder, held_until_at)
VALUES (:duty, :holder, strftime('%Y-%m-%dT%H:%M:%f', :now, '+' || :seconds || ' seconds') || '000Z')
ON CONFLICT (duty) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at
WHERE (known.held_until_at IS NULL OR known.held_until_at < :now)
  AND (known.done_at IS NULL OR known.done_at <= strftime('%Y-%m-%dT%H:%M:%f', :now, '-' || :every || ' seconds') || '000Z')
RETURNING duty
