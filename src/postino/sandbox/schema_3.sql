-- The clock of calls: a row per call, which gains its end and is changed no further. The oldest make room.
CREATE TABLE call_log (
    seq integer PRIMARY KEY AUTOINCREMENT, network text NOT NULL, account text NOT NULL, endpoint text NOT NULL,
    began_at text NOT NULL, ended_at text, status integer, retry_after_at text
);
-- Who was told to wait, by which fault, until when and in which words; account * is everybody on the network.
CREATE TABLE limits (
    network text NOT NULL, account text NOT NULL, fault integer NOT NULL, params text NOT NULL, until_at text NOT NULL,
    PRIMARY KEY (network, account)
) WITHOUT ROWID;
