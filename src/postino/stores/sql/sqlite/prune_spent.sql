DELETE FROM postino_spent WHERE at < strftime('%Y-%m-%dT%H:%M:%f', :now, '-40 days')
