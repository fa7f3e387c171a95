SELECT * FROM postino_users
WHERE id > coalesce(:after, '00000000-0000-0000-0000-000000000000') ORDER BY id LIMIT :limit
