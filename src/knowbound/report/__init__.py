"""One report model, one small renderer per format."""
