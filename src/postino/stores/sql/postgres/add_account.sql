INSERT INTO postino.accounts (id, network, handle, base_url, brand, remote_id, sealed, created_at)
VALUES (:id, :network, :handle, :base_url, :brand, :remote_id, :sealed, coalesce(:now::timestamptz, now()))
ON CONFLICT (id) DO NOTHING
RETURNING *
