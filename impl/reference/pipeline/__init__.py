"""The file queue of seed 001: a provider that writes batch files and a consumer that hands out their batches."""
