"""Word problems to equations (mwp-cl): problems, contrastive triples, the tree decoder, training data, evaluation."""
