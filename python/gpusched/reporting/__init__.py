"""Results for people: figures, notes, and a page of HTML."""
