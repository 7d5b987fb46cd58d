"""From the objects of other libraries to models, at the edge and once."""
