"""What has been said, who hears whom, and what of it reaches a prompt."""
