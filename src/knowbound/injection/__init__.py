"""From a prompt to the items it is about, to a bundle, and its record (specification 2, the hook path).

It reads the local index alone and writes only its own files in the data folder. Start with inject.py.
"""
