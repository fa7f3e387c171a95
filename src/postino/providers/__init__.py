"""The networks Postino publishes to. Each module with a `NETWORK` is one; `registry` finds them."""
