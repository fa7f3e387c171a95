UPDATE postino.cursors SET xid = :xid::bigint::text::xid8, seq = :seq WHERE listener = :listener AND holder = :holder
RETURNING listener
