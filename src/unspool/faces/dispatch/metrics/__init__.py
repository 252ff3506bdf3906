"""What an experiment is judged by: collectors that are told of every job that ended."""
