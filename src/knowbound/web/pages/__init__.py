"""The pages of the studio, one module each (docs/studio.md, "How a page is added")."""
