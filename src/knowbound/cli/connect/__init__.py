"""The verbs that connect agents, and decide what they and a project may do."""
