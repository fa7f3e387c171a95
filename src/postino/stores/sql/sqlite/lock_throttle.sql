-- Its row is made; the one writer is the lock, and a hundred guesses at once are counted one after the other.
INSERT INTO postino_throttles (subject, failures) VALUES (:subject, 0)
ON CONFLICT (subject) DO UPDATE SET subject = excluded.subject
RETURNING *, :now AS now_at
