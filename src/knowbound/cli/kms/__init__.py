"""`knowbound kms`: the verbs about items."""
