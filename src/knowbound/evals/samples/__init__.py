"""Test sets: samples files read, checked and described by one schema."""
