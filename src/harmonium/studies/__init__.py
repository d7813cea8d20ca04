"""What is done with studies: the demonstration, the figure and the benchmark of the paper."""
