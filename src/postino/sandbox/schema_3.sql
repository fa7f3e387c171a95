-- The call log: one row per call, completed when the call ends. The oldest rows are deleted.
CREATE TABLE call_log (
    seq integer PRIMARY KEY AUTOINCREMENT, network text NOT NULL, account text NOT NULL, endpoint text NOT NULL,
    began_at text NOT NULL, ended_at text, status integer, retry_after_at text
);
-- Rate limits: the account (* for all accounts of the network), the fault, its parameters and the end.
CREATE TABLE limits (
    network text NOT NULL, account text NOT NULL, fault integer NOT NULL, params text NOT NULL, until_at text NOT NULL,
    PRIMARY KEY (network, account)
) WITHOUT ROWID;
