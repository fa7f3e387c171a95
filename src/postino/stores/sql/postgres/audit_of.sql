SELECT * FROM postino.audit WHERE subject = :subject AND action = :action ORDER BY seq DESC LIMIT 1
