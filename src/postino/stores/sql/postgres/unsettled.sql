-- What would still go out by an account, or may be on its way.
SELECT count(*) AS jobs FROM postino.jobs WHERE account = :account
