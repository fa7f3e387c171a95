-- The place of a database now also names its tables. A dump that is restored into the same database makes new ones, so
-- a machine that has never used the database recognises it, too.
CREATE OR REPLACE FUNCTION postino.locate() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT json_build_array('postgres', system_identifier::text, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                            (SELECT oid::text FROM pg_database WHERE datname = current_database()),
                            'postino.database_state'::regclass::oid::text)::text
    FROM pg_control_system()
$$;

-- Wherever a database was according to former releases, its tables are the present ones.
UPDATE postino.witnesses SET signed = json_build_array(
    signed::json -> 0, signed::json -> 1, signed::json -> 2, signed::json -> 3, 'postino.database_state'::regclass::oid::text
)::text
WHERE signed LIKE '["postgres"%';
UPDATE postino.database_state SET place = json_build_array(
    place::json -> 0, place::json -> 1, place::json -> 2, place::json -> 3, 'postino.database_state'::regclass::oid::text
)::text
WHERE place LIKE '["postgres"%';

-- A database without jobs knows where it was created, so that a backup of it that is put back is recognised.
UPDATE postino.database_state SET place = postino.locate()
WHERE installation IS NULL AND standing = 'open' AND NOT EXISTS (SELECT 1 FROM postino.jobs);
