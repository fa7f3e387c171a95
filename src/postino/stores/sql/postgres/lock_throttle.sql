-- Its row is made and held, so that a hundred guesses at once are counted one after the other.
INSERT INTO postino.throttles (subject, failures) VALUES (:subject, 0)
ON CONFLICT (subject) DO UPDATE SET subject = excluded.subject
RETURNING *, coalesce(:now::timestamptz, now()) AS now_at
