-- Whether another is planned for the same time: of the account, else of the channel or of the brand on it.
SELECT EXISTS (
    SELECT FROM postino.jobs
    WHERE channel = :channel AND state = 'pending' AND run_at > :after_at::timestamptz AND run_at < :before_at::timestamptz
      AND (:account::text IS NULL OR lane = '@' || :account)
      AND (:account::text IS NOT NULL OR :brand::text IS NULL OR brand = :brand)
) AS collides
