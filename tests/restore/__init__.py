"""Databases that are restored, failed over, copied or only unused: drills with real processes."""
