"""The tabs of the page: each file has a layout and registers its callbacks."""
