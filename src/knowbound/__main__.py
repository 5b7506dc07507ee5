"""`python -m knowbound`: the command line, where no script of ours is on the PATH."""

from knowbound.cli.entry import main

if __name__ == "__main__":
    main()
