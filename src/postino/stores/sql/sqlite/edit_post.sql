UPDATE postino_posts SET content_id = :content_id, fingerprint = :fingerprint, publish_until_at = :publish_until_at
WHERE id = :id
RETURNING id
