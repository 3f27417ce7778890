"""Charts and the page of a study."""
