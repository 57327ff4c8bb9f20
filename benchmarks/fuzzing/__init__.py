"""Files made to do harm: valid ones with something wrong in them, and a worker that reads them under guard."""
