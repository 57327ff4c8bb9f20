"""The local page on which a person explores a run, corrects it and takes the result away."""
