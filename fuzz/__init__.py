"""Coverage-guided fuzzing of everything that reads a file or a message: `make fuzz`."""
