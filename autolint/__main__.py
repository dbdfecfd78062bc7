"""``python -m autolint``."""

from autolint.cli import main

if __name__ == "__main__":
    main()
