-- name: insert_api_key
INSERT INTO postino.api_keys (id, name, prefix, digest, role, brands, job_types, created_by, created_at, expires_at)
VALUES (:id, :name, :prefix, :digest, :role, :brands, :job_types, :created_by, :now, :expires_at)
ON CONFLICT (name) DO NOTHING
RETURNING *

-- name: list_api_keys
SELECT * FROM postino.api_keys
WHERE id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000') ORDER BY id LIMIT :limit

-- name: find_api_keys
-- By the public prefix: the caller compares the secret's digest, in constant time.
SELECT *, :now AS now_at FROM postino.api_keys WHERE prefix = :prefix

-- name: touch_api_key
UPDATE postino.api_keys SET last_used_at = :now WHERE id = :id

-- name: delete_api_key
DELETE FROM postino.api_keys WHERE id = :id RETURNING *

-- name: insert_user
INSERT INTO postino.users (id, name, password, role, brands, created_by, created_at)
VALUES (:id, :name, :password, :role, :brands, :created_by, :now)
ON CONFLICT (name) DO NOTHING
RETURNING *

-- name: get_user
SELECT * FROM postino.users WHERE id = :id

-- name: find_user
SELECT * FROM postino.users WHERE name = :name

-- name: list_users
SELECT * FROM postino.users
WHERE id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000') ORDER BY id LIMIT :limit

-- name: lock_user
-- Concurrent changes to different fields of one user must both count.
SELECT * FROM postino.users WHERE id = :id FOR UPDATE

-- name: update_user
UPDATE postino.users SET password = :password, role = :role, brands = :brands WHERE id = :id RETURNING *

-- name: set_password
UPDATE postino.users SET password = :password WHERE id = :id

-- name: delete_user
DELETE FROM postino.users WHERE id = :id RETURNING *

-- name: insert_session
INSERT INTO postino.sessions (id, user_id, digest, created_at, seen_at, expires_at)
VALUES (:id, :user_id, :digest, :now, :now, :expires_at)
RETURNING *

-- name: get_session
SELECT sessions.*, users.name, users.role, users.brands, users.created_by, :now AS now_at
FROM postino.sessions AS sessions JOIN postino.users AS users ON users.id = sessions.user_id
WHERE sessions.id = :id

-- name: touch_session
UPDATE postino.sessions SET seen_at = :now WHERE id = :id

-- name: delete_session
DELETE FROM postino.sessions WHERE id = :id RETURNING user_id

-- name: insert_sign_in_link
INSERT INTO postino.sign_in_links (id, user_id, digest, created_at, expires_at)
VALUES (:id, :user_id, :digest, :now, :expires_at)

-- name: get_sign_in_link
SELECT links.*, users.name, users.role, users.brands, users.created_by, :now AS now_at
FROM postino.sign_in_links AS links JOIN postino.users AS users ON users.id = links.user_id
WHERE links.id = :id

-- name: delete_sign_in_link
DELETE FROM postino.sign_in_links WHERE id = :id RETURNING user_id

-- name: lock_login_throttle
-- Inserts and locks the row, so that concurrent attempts are counted one after the other.
INSERT INTO postino.login_throttles (subject, failures) VALUES (:subject, 0)
ON CONFLICT (subject) DO UPDATE SET subject = excluded.subject
RETURNING *, :now AS now_at

-- name: update_login_throttle
UPDATE postino.login_throttles SET failures = :failures, last_at = :now WHERE subject = :subject

-- name: decrement_login_throttle
UPDATE postino.login_throttles SET failures = failures - 1 WHERE subject = :subject AND failures > 0

-- name: delete_login_throttle
DELETE FROM postino.login_throttles WHERE subject = :subject

-- name: prune_login_throttles
DELETE FROM postino.login_throttles WHERE subject IN (
    SELECT subject FROM postino.login_throttles WHERE last_at < :before_at ORDER BY last_at LIMIT 100
)
