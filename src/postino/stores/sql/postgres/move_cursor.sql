UPDATE postino.cursors
SET xid = :xid::bigint::text::xid8, seq = :seq,
    held_until_at = greatest(held_until_at, coalesce(:now::timestamptz, now()) + make_interval(secs => :seconds))
WHERE listener = :listener AND holder = :holder
RETURNING listener
