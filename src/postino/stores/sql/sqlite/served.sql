SELECT channel, brand, at FROM postino_served
