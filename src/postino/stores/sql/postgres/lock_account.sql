-- Two that connect it at once do so one after the other.
SELECT * FROM postino.accounts WHERE id = :id FOR UPDATE
