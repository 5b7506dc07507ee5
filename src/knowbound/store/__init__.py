"""Results that are kept between runs."""
