-- Why a worker cannot claim jobs, and since when; NULL: it can.
ALTER TABLE postino.workers ADD COLUMN trouble text, ADD COLUMN trouble_since_at timestamptz;
