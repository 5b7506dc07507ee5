"""Installation into agents: their settings files, our entries in them, and the changes of both."""
