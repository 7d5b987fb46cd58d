"""What is compared: models, the trees they live on, and what is known of a tree."""
