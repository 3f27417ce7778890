"""One pinned digest per registered name: did anything change?"""
