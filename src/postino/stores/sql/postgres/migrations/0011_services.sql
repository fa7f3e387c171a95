-- The service of an account: its network and the origin of its server. Circuits belong to services.
ALTER TABLE postino.accounts ADD COLUMN service text NOT NULL DEFAULT '';
UPDATE postino.accounts SET service = network || '@' || CASE
    WHEN base_url LIKE 'sandbox:%' THEN 'sandbox'
    -- Without a user name and password, which old addresses may contain.
    ELSE lower(regexp_replace(split_part(split_part(base_url, '://', 2), '/', 1), '^.*@', '')) END;
UPDATE postino.accounts SET service = service || ':80'
WHERE base_url LIKE 'http://%' AND split_part(service, '@', 2) NOT LIKE '%:%';
CREATE INDEX accounts_service ON postino.accounts (service);

-- Claims read the circuits of whole channels with every poll, and those of services only for accounts with due jobs.
CREATE INDEX circuits_channels ON postino.circuits (service)
    WHERE strpos(service, '@') = 0 AND (state <> 'closed' OR failures <> '[]');
DELETE FROM postino.caps WHERE strpos(channel, '@') > 0 AND cap IS NULL AND default_cap IS NULL;

-- The circuit that holds an account's jobs, while it is not closed. While it is half-open, its `until_at` is when the
-- next probe may start if no result has changed it before.
CREATE VIEW postino.account_circuits AS
SELECT account.id AS account, account.network, circuit.service, circuit.state, circuit.since_at,
       coalesce(circuit.until_at, '9999-01-01 00:00:00+00'::timestamptz) AS until_at, circuit.failures, circuit.trips,
       circuit.probes, circuit.reason, circuit.manual
FROM postino.accounts AS account
JOIN postino.circuits AS circuit ON circuit.service = account.service
WHERE circuit.state <> 'closed';
