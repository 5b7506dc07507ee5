"""A question as understood: its intent, its terms, what it asks of the history."""
