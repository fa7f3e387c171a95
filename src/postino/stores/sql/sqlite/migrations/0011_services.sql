-- The service of an account: its network and the origin of its server. Circuits belong to services.
ALTER TABLE postino_accounts ADD COLUMN service text NOT NULL DEFAULT '';
UPDATE postino_accounts SET service = CASE
    WHEN base_url LIKE 'sandbox:%' THEN 'sandbox'
    ELSE lower(substr(base_url, instr(base_url, '://') + 3,
        instr(substr(base_url, instr(base_url, '://') + 3) || '/', '/') - 1)) END;
-- Without a user name and password, which old addresses may contain.
UPDATE postino_accounts SET service = network || '@' || substr(service, instr(service, '@') + 1);
UPDATE postino_accounts SET service = service || ':80'
WHERE base_url LIKE 'http://%' AND substr(service, instr(service, '@')) NOT LIKE '%:%';
CREATE INDEX postino_accounts_service ON postino_accounts (service);

-- Claims read the circuits of whole channels with every poll, and those of services only for accounts with due jobs.
CREATE INDEX postino_circuits_channels ON postino_circuits (service)
    WHERE instr(service, '@') = 0 AND (state <> 'closed' OR failures <> '[]');
DELETE FROM postino_caps WHERE instr(channel, '@') > 0 AND cap IS NULL AND default_cap IS NULL;

-- The circuit that holds an account's jobs, while it is not closed. While it is half-open, its `until_at` is when the
-- next probe may start if no result has changed it before.
CREATE VIEW postino_account_circuits AS
SELECT account.id AS account, account.network, circuit.service, circuit.state, circuit.since_at,
       coalesce(circuit.until_at, '9999-01-01T00:00:00.000000Z') AS until_at, circuit.failures, circuit.trips,
       circuit.probes, circuit.reason, circuit.manual
FROM postino_accounts AS account
JOIN postino_circuits AS circuit ON circuit.service = account.service
WHERE circuit.state <> 'closed';
