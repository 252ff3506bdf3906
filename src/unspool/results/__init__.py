"""What a run leaves behind: tables, summary, the folder they are kept in, and comparisons."""
