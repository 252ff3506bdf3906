"""What is said about results: comparisons, reasons for waits, checks, forecasts, costs put together, commitments."""
