"""From a miss to the right place (rescue), from topics to lines of knowledge (learn)."""
