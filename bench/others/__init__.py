"""Items that other tools inject, found in transcripts and compared with a reader's list."""
