"""The page's parts: what is asked, what the paper says, what came out."""
