"""What command lines ran: tests, builds, lint, and how each ended."""
