"""One file a predictor: guesses how long a job will run, and learns from those that have ended."""
