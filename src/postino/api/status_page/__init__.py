"""A page that shows the latest posts, and pages for errors that a person meets in a browser."""
