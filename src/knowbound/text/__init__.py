"""Text tools of several rooms: words, sentences, Markdown, embedding, redaction."""
