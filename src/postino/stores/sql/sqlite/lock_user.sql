-- Two that change different things of one person at once both count: there is only one writer.
SELECT * FROM postino_users WHERE id = :id
