"""The command ``gpusched``, also ``python -m gpusched``; handles Ctrl-C before any import."""

from gpusched.base.early_interrupts import ignore_at_the_very_end, listen


def main() -> None:
    """Run the command line and exit."""
    listen()
    ignore_at_the_very_end()
    from gpusched.cli import main as run

    run()


if __name__ == "__main__":
    main()
