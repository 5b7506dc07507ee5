"""The knowledge store: items in several backends, one local index that is searched, and the log of their quality.

Everything above asks knowledge_store.py to write and index/ to find; only backends/, team_log.py and team_results.py
talk to databases other than ours. Start with opening.py, which opens what the settings name, then
backends/protocol.py; hooks load the modules codes, ranking and search of index/ alone.
"""
