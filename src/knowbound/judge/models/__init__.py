"""Models as judges: typed questions, kept answers, budgets, and one client for each provider.

Only a client may start a program or open a connection, and only when a question is asked. Start with `asking.py`;
`questions.py` has what is asked, `completion.py` one call and its failures.
"""
