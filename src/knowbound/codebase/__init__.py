"""Source trees: files, definitions, passages and their ranking, languages, manifests; as of now or as of a commit.

It reads files and git and starts ripgrep; nothing of a tree is run. `tree.py` answers questions about a tree,
`checkout.py` is what statements are checked against, `kept_index.py` is the index that a hook reads.
"""
