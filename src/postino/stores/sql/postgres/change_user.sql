UPDATE postino.users SET password = :password, role = :role, brands = :brands WHERE id = :id RETURNING *
