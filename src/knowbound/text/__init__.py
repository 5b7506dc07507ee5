"""What several rooms need of text: sentences, similarity, shell syntax, redaction."""
