INSERT INTO postino_accounts (id, network, handle, base_url, brand, remote_id, sealed, created_at)
VALUES (:id, :network, :handle, :base_url, :brand, :remote_id, :sealed, :now)
ON CONFLICT (id) DO UPDATE SET handle = excluded.handle, base_url = excluded.base_url, brand = excluded.brand,
    remote_id = excluded.remote_id, sealed = excluded.sealed, 
    -- Credentials that are taken again end a token's end, not a person's pause.
    state = CASE WHEN postino_accounts.state = 'paused' THEN postino_accounts.state ELSE 'active' END,
    reason = CASE WHEN postino_accounts.state = 'paused' THEN postino_accounts.reason END
RETURNING *
