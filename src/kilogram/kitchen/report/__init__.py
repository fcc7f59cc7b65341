"""The report: HTML, JSON, model card, plots and sentences."""
