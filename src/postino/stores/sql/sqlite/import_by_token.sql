SELECT * FROM postino_imports WHERE caller = :caller AND token = :token
