"""The build systems that are run and read well; the others are recognised and named (specification 3, Build, Test)."""
