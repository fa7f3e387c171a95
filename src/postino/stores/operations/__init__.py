"""What a store does, written once for every database: generators that yield queries and receive rows."""
