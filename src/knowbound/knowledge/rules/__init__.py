"""Rules of knowledge files, checked against sessions."""
