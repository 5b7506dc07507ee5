"""Causes of failed samples: material, what rules can show, what a model proposes and rules verify."""
