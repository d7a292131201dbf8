"""Laws: relations that must hold across several calls, whatever the exact values. One module per family."""
