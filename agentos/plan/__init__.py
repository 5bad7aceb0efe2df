"""What a run will do, decided before anything is started."""
