UPDATE postino_users SET password = :password WHERE id = :id
