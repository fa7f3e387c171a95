SELECT links.*, users.name, users.role, users.brands, users.created_by, :now AS now_at
FROM postino_sign_ins AS links JOIN postino_users AS users ON users.id = links.user_id
WHERE links.id = :id
