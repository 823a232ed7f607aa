"""Who answers: a live model, a cassette, a script, or nobody. Each in a module of its own."""
