SELECT * FROM postino.users
WHERE id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000') ORDER BY id LIMIT :limit
