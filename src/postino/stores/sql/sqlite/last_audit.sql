SELECT seq, hash FROM postino_audit ORDER BY seq DESC LIMIT 1
