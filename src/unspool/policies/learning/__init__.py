"""What learns run times: features of jobs, models in their own optional packages, and when a model is trained."""
