WITH old AS (
    SELECT id, generation FROM postino.dead_letters
    WHERE resolved_at < coalesce(:now::timestamptz, now()) - make_interval(days => :dead_letter_days)
    LIMIT 1000
)
DELETE FROM postino.dead_letters AS letter USING old
WHERE letter.id = old.id AND letter.generation = old.generation
RETURNING letter.id
