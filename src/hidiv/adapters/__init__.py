"""From the objects and files of other libraries to models, at the edge and once; a file a library."""
