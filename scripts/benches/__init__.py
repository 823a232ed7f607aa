"""What `scripts/bench` measures, a module each."""
