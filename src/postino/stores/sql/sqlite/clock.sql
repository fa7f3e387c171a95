SELECT :now AS now_at
