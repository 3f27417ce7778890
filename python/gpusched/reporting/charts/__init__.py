"""What the pictures of a comparison show: their points, axes and words, without any drawing."""
