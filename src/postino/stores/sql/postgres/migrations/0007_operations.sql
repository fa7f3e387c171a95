-- What people look at: how posts ended lately, and what each brand has. Only posts and what has a brand pay for it.
CREATE INDEX finished_posts ON postino.finished (finished_at) WHERE type = 'postino.post';
CREATE INDEX jobs_brand ON postino.jobs (brand, id) WHERE brand IS NOT NULL;
CREATE INDEX finished_brand ON postino.finished (brand, id) INCLUDE (state, type) WHERE brand IS NOT NULL AND NOT superseded;
CREATE INDEX kept_brand ON postino.kept (brand, id) WHERE brand IS NOT NULL;
CREATE INDEX dead_letters_brand ON postino.dead_letters (brand, id) WHERE brand IS NOT NULL;
CREATE INDEX audit_subject ON postino.audit (subject);
