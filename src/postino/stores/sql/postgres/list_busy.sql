-- Of what is running or uncertain there is never much: all of it through its own index, then the newest.
WITH busy AS MATERIALIZED (
    SELECT id FROM postino.jobs WHERE
      state <> 'pending' AND state = ANY (:states::text[])
      AND (:brands::text[] IS NULL OR brand = ANY (:brands))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
)
SELECT * FROM postino.stored_jobs
WHERE id = ANY (ARRAY (SELECT id FROM busy ORDER BY id DESC LIMIT :limit))
ORDER BY id DESC
