"""Every SQLite file of a data folder: its schema, the results of each capability in it, and their erasing.

The room touches files below the data folder and the user's state folder, and imports only values and text tools: a
lens gives it values and gets values. Start with database.py (opening, migrations), then observed.py; hooks load
data_dir.py and read_only.py alone.
"""
