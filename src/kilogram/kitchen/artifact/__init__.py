"""The model file: saving, loading, predictions, checks of new rows."""
