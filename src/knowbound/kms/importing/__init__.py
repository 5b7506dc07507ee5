"""Files and exports of other memories into items."""
