SELECT * FROM postino.imports WHERE caller = :caller AND token = :token
