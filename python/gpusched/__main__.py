"""``python -m gpusched`` is ``gpusched``."""

from gpusched.cli import main

if __name__ == "__main__":
    main()
