-- Whether another is planned for the same time: of the account, else of the channel or of the brand on it.
SELECT EXISTS (
    SELECT 1 FROM postino_jobs
    WHERE channel = :channel AND state = 'pending' AND run_at > :after_at AND run_at < :before_at
      AND (:account IS NULL OR lane = '@' || :account)
      AND (:account IS NOT NULL OR :brand IS NULL OR brand = :brand)
) AS collides
