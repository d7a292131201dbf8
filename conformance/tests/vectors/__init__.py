"""Cases: expanded, asked, frozen, and compared."""
