"""Tool calls: the kind of a tool, the outcome of a call by its result, and the intent of a lookup that missed."""
