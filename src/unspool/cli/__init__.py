"""The command line: one file a verb. Data goes to stdout, all else to stderr."""
