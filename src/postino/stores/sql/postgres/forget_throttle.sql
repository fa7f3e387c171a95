DELETE FROM postino.throttles WHERE subject = :subject
