INSERT INTO postino_served (channel, brand, at) VALUES (:channel, :brand, :now)
ON CONFLICT (channel, brand) DO UPDATE SET at = excluded.at
