SELECT sessions.*, users.name, users.role, users.brands, users.created_by, :now AS now_at
FROM postino_sessions AS sessions JOIN postino_users AS users ON users.id = sessions.user_id
WHERE sessions.id = :id
