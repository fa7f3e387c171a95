UPDATE postino_gates SET paused_at = NULL, reason = NULL WHERE scope = :scope AND name = :name AND paused_at IS NOT NULL RETURNING *
