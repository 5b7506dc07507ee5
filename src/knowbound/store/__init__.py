"""What was read and found, kept between runs."""
