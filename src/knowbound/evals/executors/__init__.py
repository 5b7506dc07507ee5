"""Executors, which answer samples: one file per executor, each of which leaves a trace that a reader recognises."""
