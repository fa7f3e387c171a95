SELECT * FROM postino_audit WHERE seq < coalesce(:before, 9223372036854775807) ORDER BY seq DESC LIMIT :limit
