UPDATE postino_throttles SET failures = failures - 1 WHERE subject = :subject AND failures > 0
