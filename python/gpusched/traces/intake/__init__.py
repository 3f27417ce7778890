"""How what people have becomes columns: times, names of columns, files together, parts of them."""
