"""Small tools that the domains and the services share."""
