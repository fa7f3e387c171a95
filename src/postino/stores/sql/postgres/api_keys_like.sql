-- By what anybody may see of a key: what is secret of it is compared outside, in constant time.
SELECT *, coalesce(:now::timestamptz, now()) AS now_at FROM postino.api_keys WHERE prefix = :prefix
