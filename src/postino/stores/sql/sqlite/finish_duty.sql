UPDATE postino_duties SET done_at = :now, held_until_at = NULL WHERE duty = :duty AND holder = :holder
