"""What a model that was made is given away as: a part of the package, one file for llama.cpp."""
