SELECT sessions.*, users.name, users.role, users.brands, users.created_by, coalesce(:now::timestamptz, now()) AS now_at
FROM postino.sessions AS sessions JOIN postino.users AS users ON users.id = sessions.user_id
WHERE sessions.id = :id
