-- The newest first: of one brand, or of all.
SELECT * FROM (SELECT * FROM postino_drafts WHERE :brand IS NULL AND id < :before ORDER BY id DESC LIMIT :limit)
UNION ALL
SELECT * FROM (SELECT * FROM postino_drafts WHERE brand = :brand AND id < :before ORDER BY id DESC LIMIT :limit)
