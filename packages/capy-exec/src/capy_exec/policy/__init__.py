"""What code may run: the user's permission rules, held against every command that the code would start."""
