-- What people look at: how posts ended lately, and what each brand has. Only posts and what has a brand pay for it.
CREATE INDEX postino_finished_jobs_posts ON postino_finished_jobs (finished_at) WHERE type = 'postino.post';
CREATE INDEX postino_jobs_brand ON postino_jobs (brand, id) WHERE brand IS NOT NULL;
CREATE INDEX postino_finished_jobs_brand ON postino_finished_jobs (brand, id, state, type) WHERE brand IS NOT NULL AND NOT superseded;
CREATE INDEX postino_archived_jobs_brand ON postino_archived_jobs (brand, id) WHERE brand IS NOT NULL;
CREATE INDEX postino_dead_letters_brand ON postino_dead_letters (brand, id) WHERE brand IS NOT NULL;
CREATE INDEX postino_audit_subject ON postino_audit (subject);
