-- When a person last gave a post another time although it was due. In a backup that was put back, such a post may have
-- been published at its former time.
ALTER TABLE postino.posts ADD COLUMN postponed_at timestamptz;
CREATE INDEX posts_postponed ON postino.posts (postponed_at) WHERE postponed_at IS NOT NULL;
