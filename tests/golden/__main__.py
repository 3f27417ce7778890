"""``python -m tests.golden`` pins the present digests and prints what changed."""

from tests.golden.digests import compute, differences, read, write

if __name__ == "__main__":
    now = compute()
    changes = differences(read(), now)
    write(now)
    print("\n".join(changes) or "nothing changed")
    if changes:
        print("review the changes, and list those of released names in CHANGELOG")
