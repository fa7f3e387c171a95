UPDATE postino_imports SET created = created + :created, known = known + :known WHERE id = :id
