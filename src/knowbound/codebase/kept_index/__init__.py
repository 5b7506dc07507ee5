"""The index of a source tree that is kept in the data folder: files, what they define, and the words in them."""
