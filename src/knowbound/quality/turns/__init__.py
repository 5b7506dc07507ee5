"""Turns as they are found, joined from what is known about each, and scored from traces."""
