"""Pictures and the page of a study."""
