"""``python -m bench``; ``python bench/run.py`` does the same."""

from bench.run import main

if __name__ == "__main__":
    main()
