DELETE FROM postino_throttles WHERE subject = :subject
