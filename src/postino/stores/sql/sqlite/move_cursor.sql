UPDATE postino_cursors
SET seq = :seq,
    held_until_at = max(held_until_at, strftime('%Y-%m-%dT%H:%M:%f', :now, '+' || :seconds || ' seconds') || '000Z')
WHERE :xid = 0 AND listener = :listener AND holder = :holder
RETURNING listener
