"""The paper's benchmark: nested cross-validation of several models on several studies, task by task."""
