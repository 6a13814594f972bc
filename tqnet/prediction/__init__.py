"""Knowledge points and difficulty of new questions: heads on frozen vectors, calibrated on ``valid``."""
