"""Tables from files, databases and data frames."""
