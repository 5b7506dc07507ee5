"""Questions to a knowledge base: competency questions (specification 1, section 9), and drafts of samples."""
