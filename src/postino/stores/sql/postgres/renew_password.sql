UPDATE postino.users SET password = :password WHERE id = :id
