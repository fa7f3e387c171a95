SELECT seq, hash FROM postino.audit ORDER BY seq DESC LIMIT 1
