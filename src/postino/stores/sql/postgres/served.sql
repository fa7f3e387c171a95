SELECT channel, brand, at FROM postino.served
