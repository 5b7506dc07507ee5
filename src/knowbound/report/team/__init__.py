"""What machines share, and what a team sees of it."""
