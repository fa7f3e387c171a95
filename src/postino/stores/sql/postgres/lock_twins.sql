-- Two clicks at once wait for each other here; in the order of their names, so that nobody waits in a circle.
SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM (SELECT unnest(:names::text[]) AS name ORDER BY 1) AS named
