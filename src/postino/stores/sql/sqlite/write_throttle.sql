UPDATE postino_throttles SET failures = :failures, last_at = :now WHERE subject = :subject
