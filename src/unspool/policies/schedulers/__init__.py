"""One file a scheduler: a class with its parameters and, where compiled, its kernel."""
