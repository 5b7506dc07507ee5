"""Tools for text: sentences, stems, specific words, Markdown, embedding, redaction, the intent of a question.

They take text and give values; only tables beside them are read. `redact.py` and `secrets/` keep secrets out of
everything that is stored, shown or sent.
"""
