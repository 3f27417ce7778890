"""The pictures of the report, one per file: what each shows, and the public function of it."""
