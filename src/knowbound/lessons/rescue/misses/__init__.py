"""What a tool call that found nothing looked for: read from the event that a client sends to its hooks."""
