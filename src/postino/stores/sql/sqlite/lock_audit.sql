-- One chain, so one writer at a time: there is only one.
SELECT :now AS now_at
