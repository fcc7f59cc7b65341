"""Long runs that attack the command line and the server; they assert what the tests assert once."""
