"""The conversations of the bundled suite's laws; `spec/*/laws.yaml` declares them."""
