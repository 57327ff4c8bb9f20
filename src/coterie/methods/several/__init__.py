"""What methods for several views share: samples, scalings that make views agree, guards, joined graphs."""
