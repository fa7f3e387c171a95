-- When a person last gave a post another time although it was due. In a backup that was put back, such a post may have
-- been published at its former time.
ALTER TABLE postino_posts ADD COLUMN postponed_at text;
CREATE INDEX postino_posts_postponed ON postino_posts (postponed_at) WHERE postponed_at IS NOT NULL;
