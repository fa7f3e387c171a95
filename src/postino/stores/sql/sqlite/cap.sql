INSERT INTO postino_gates (scope, name, cap) VALUES ('channel', :name, :cap)
ON CONFLICT (scope, name) DO UPDATE SET cap = excluded.cap
RETURNING *
