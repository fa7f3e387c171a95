INSERT INTO postino_served (channel, brand, at) VALUES (:channel, :brand, :at)
