-- The application's own table. Postino's are in a schema of their own, `postino`.
CREATE TABLE IF NOT EXISTS snap (
    job_id       uuid PRIMARY KEY,
    file         text NOT NULL,
    starts       int NOT NULL DEFAULT 0,
    processed_at timestamptz
);
