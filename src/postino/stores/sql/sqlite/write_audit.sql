INSERT INTO postino_audit (seq, at, actor, action, subject, reason, detail, hash)
VALUES (:seq, :at, :actor, :action, :subject, :reason, :detail, :hash)
