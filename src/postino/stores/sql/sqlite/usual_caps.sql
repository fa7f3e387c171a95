INSERT INTO postino_caps (channel, usual) VALUES (:channel, :usual)
ON CONFLICT (channel) DO UPDATE SET usual = excluded.usual
