"""Render stored things as the JSON of responses. Views are derived at each request and hold no secrets."""
