"""The HTTP API: what people and programs ask of Postino over the wire. It decides nothing and publishes nothing."""
