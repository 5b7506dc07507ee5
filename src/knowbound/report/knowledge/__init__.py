"""What is written down: statements that the tree contradicts, rules and who obeyed them, lessons to write.

It turns values of `core/` into lines and sections, and reads no knowledge file.
Start with `lint.py`.
"""
