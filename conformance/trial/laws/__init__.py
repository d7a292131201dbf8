"""Laws: relations between the answers to several calls. One module per family, two for data."""
