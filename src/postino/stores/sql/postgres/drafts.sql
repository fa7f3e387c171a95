-- The newest first: of one brand, or of all.
(SELECT * FROM postino.drafts WHERE :brand::text IS NULL AND id < :before ORDER BY id DESC LIMIT :limit)
UNION ALL
(SELECT * FROM postino.drafts WHERE brand = :brand::text AND id < :before ORDER BY id DESC LIMIT :limit)
