"""Forward passes that give a row the same answer alone and in company."""

# Every forward pass outside training has this many rows, the last one padded: matrix products round
# differently for other sizes, and a row must get the same label alone and in company.
FORWARD_ROWS = 256
