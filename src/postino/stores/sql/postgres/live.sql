INSERT INTO postino.surroundings (id, identity, alive_at) VALUES (1, :identity, coalesce(:now::timestamptz, now()))
ON CONFLICT (id) DO UPDATE SET identity = excluded.identity, alive_at = excluded.alive_at
