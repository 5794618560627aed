"""What is wrong, and what mends it: doctor, audit, figures, backup, erasure; and the worker, which does what hooks leave."""
