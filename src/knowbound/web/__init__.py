"""The studio: what knowbound knows, in the browser (docs/studio.md). Needs the extra `studio`."""
