"""The command ``gpusched``, also as ``python -m gpusched``: listens before anything is imported."""

from gpusched.base.early_interrupts import ignore_at_the_very_end, listen


def main() -> None:
    """Run the command line and exit."""
    listen()
    ignore_at_the_very_end()
    from gpusched.cli import main as run

    run()


if __name__ == "__main__":
    main()
