"""The complete search: children, evaluation functions, the best-first loop, and `Planner`."""
