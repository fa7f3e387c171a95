-- By what anybody may see of a key: what is secret of it is compared outside, in constant time.
SELECT *, :now AS now_at FROM postino_api_keys WHERE prefix = :prefix
