"""What domains and services share."""
