"""Who answers a sample: one file per executor, each yielding a trace that `read` understands."""
