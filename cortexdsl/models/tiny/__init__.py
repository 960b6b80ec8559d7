"""Small language models that run in the process: Llama folders of Hugging Face, by numpy alone."""
