"""Lloyd's algorithm and its relatives: passes over the rows, initialisation, the loop."""
