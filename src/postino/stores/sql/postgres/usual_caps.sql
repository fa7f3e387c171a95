-- Not touched unless it changes: a claim may hold it.
INSERT INTO postino.caps AS known (channel, usual)
SELECT * FROM unnest(:channel::text[], :usual::int[]) AS c (channel, usual) ORDER BY channel
ON CONFLICT (channel) DO UPDATE SET usual = excluded.usual WHERE known.usual IS DISTINCT FROM excluded.usual
