-- Two that change different things of one person at once both count.
SELECT * FROM postino.users WHERE id = :id FOR UPDATE
