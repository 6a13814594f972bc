"""A package: icecream, which pytextrank needs, installs one of this name, which would come before a mere folder."""
