-- The HMAC of an entry's hash under a key from vault.key, which nobody has who can only write the database. NULL: the
-- entry is older, or a process without the key wrote it.
ALTER TABLE postino.audit ADD COLUMN proof text;
