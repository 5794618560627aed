"""From a query to hits; returns data, prints nothing."""
