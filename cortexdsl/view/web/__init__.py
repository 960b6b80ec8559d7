"""The explorer as a server, and as a folder of files."""
