-- Only the version that was read: a change that came between is not lost with it.
DELETE FROM postino.drafts WHERE id = :id AND version = :version RETURNING *
