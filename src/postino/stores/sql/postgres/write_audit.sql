INSERT INTO postino.audit (seq, at, actor, action, subject, reason, detail, hash)
VALUES (:seq, :at, :actor, :action, :subject, :reason, :detail, :hash)
