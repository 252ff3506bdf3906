"""`unspool studio`: the same verbs from a page in the browser, on this machine alone."""
