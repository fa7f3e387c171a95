-- The types of jobs that an API key may queue, as JSON; NULL: all. Keys of editors and viewers name them.
ALTER TABLE postino.api_keys ADD COLUMN job_types text;
UPDATE postino.api_keys SET job_types = '[]' WHERE role <> 'owner';
