"""`python -m react_replay` is the `react-replay` command."""

from react_replay.cli import main

if __name__ == "__main__":
    main()
