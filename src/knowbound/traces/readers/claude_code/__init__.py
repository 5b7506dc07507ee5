"""Claude Code: transcripts and the stream of `claude -p`."""
