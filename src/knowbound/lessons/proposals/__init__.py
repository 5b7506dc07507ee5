"""One module for each way in which sessions show what is worth a line."""
