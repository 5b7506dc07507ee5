"""The target of a tool call that found nothing, read from the event that a client sends to its hooks."""
