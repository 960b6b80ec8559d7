"""Tables, figures and pages."""
