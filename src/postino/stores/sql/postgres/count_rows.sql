UPDATE postino.imports SET created = created + :created, known = known + :known WHERE id = :id
