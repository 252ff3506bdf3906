"""What a run leaves behind: tables, summary, figures, and the folder that they are kept in."""
