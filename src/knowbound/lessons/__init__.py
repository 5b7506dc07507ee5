"""From a miss to the right place, and from what is missed again and again to lines of knowledge."""
