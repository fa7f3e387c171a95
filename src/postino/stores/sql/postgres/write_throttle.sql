UPDATE postino.throttles SET failures = :failures, last_at = coalesce(:now::timestamptz, now()) WHERE subject = :subject
