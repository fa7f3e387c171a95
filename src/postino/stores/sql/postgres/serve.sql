-- Remembers whose turn it was. A row that somebody else holds is left to them: a turn is not worth a wait.
WITH turn AS (
    SELECT * FROM unnest(:channel::text[], :brand::text[]) AS t (channel, brand)
), known AS (
    SELECT served.channel, served.brand FROM postino.served JOIN turn USING (channel, brand)
    FOR UPDATE OF served SKIP LOCKED
), again AS (
    UPDATE postino.served SET at = coalesce(:now::timestamptz, now()) FROM known
    WHERE served.channel = known.channel AND served.brand = known.brand
)
INSERT INTO postino.served (channel, brand, at)
SELECT channel, brand, coalesce(:now::timestamptz, now()) FROM turn
WHERE NOT EXISTS (SELECT FROM postino.served WHERE served.channel = turn.channel AND served.brand = turn.brand)
ORDER BY channel, brand
ON CONFLICT DO NOTHING
