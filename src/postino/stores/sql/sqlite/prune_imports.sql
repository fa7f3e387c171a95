-- Checked long ago, and never saved.
DELETE FROM postino_imports WHERE state = 'checked' AND changed_at < strftime('%Y-%m-%dT%H:%M:%f', :now, '-' || :days || ' days')
