"""The hook: what it answers to each event of an agent, within its limit, and the record of it. Start with events.py."""
