-- What people look at: how posts ended lately, and what each brand has. Only posts and what has a brand pay for it.
CREATE INDEX finished_jobs_posts ON postino.finished_jobs (finished_at) WHERE type = 'postino.post';
CREATE INDEX jobs_brand ON postino.jobs (brand, id) WHERE brand IS NOT NULL;
CREATE INDEX finished_jobs_brand ON postino.finished_jobs (brand, id) INCLUDE (state, type) WHERE brand IS NOT NULL AND NOT superseded;
CREATE INDEX archived_jobs_brand ON postino.archived_jobs (brand, id) WHERE brand IS NOT NULL;
CREATE INDEX dead_letters_brand ON postino.dead_letters (brand, id) WHERE brand IS NOT NULL;
CREATE INDEX audit_subject ON postino.audit (subject);
