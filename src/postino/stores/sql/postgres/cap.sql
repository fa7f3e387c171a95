INSERT INTO postino.caps (channel, most) VALUES (:channel, :most)
ON CONFLICT (channel) DO UPDATE SET most = excluded.most
RETURNING channel, coalesce(most, usual) AS cap
