"""What can be asserted about an answer."""
