"""Whatever the API accepts can be listed, shown, explained, claimed and settled beside others, on both databases."""
