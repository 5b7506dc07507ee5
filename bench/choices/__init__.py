"""Labelled prompts: which items of a store does a prompt need? Written by two authors who had not seen the code."""
