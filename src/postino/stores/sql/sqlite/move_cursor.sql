UPDATE postino_cursors SET seq = :seq WHERE :xid = 0 AND listener = :listener AND holder = :holder RETURNING listener
