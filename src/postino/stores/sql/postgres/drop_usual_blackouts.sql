DELETE FROM postino.blackouts WHERE usual AND id <> ALL (:ids::uuid[]) RETURNING told
