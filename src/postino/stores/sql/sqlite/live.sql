INSERT INTO postino_surroundings (id, identity, alive_at) VALUES (1, :identity, :now)
ON CONFLICT (id) DO UPDATE SET identity = excluded.identity, alive_at = excluded.alive_at
