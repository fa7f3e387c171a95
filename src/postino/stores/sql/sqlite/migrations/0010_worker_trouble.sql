-- Why a worker cannot claim jobs, and since when; NULL: it can.
ALTER TABLE postino_workers ADD COLUMN trouble text;
ALTER TABLE postino_workers ADD COLUMN trouble_since_at text;
