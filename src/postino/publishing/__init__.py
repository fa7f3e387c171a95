"""What publishing needs beyond a queue: accounts, contents, posts, and a vault for what must not be read."""
