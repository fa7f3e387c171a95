SELECT links.*, users.name, users.role, users.brands, users.created_by, coalesce(:now::timestamptz, now()) AS now_at
FROM postino.sign_ins AS links JOIN postino.users AS users ON users.id = links.user_id
WHERE links.id = :id
