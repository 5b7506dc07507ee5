"""The report of `audit`: the distribution of diagnoses, the turns to look at first, and one turn side by side."""
