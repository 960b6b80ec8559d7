"""The explorer: pages that show experiments and debates in a browser, served or written to a folder."""
