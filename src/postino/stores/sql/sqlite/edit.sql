UPDATE postino_jobs SET payload = :payload WHERE id = :id AND state = 'pending' AND NOT sent RETURNING id
