"""One module for each host: its payload in, our event out; our verdict in, its answer out."""
