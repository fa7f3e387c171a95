SELECT * FROM postino.audit WHERE seq < coalesce(:before::bigint, 9223372036854775807) ORDER BY seq DESC LIMIT :limit
