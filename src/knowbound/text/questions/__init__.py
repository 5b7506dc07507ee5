"""What a message asks or orders: its clauses, their mood, and the kind of question (specification 3, part IV)."""
