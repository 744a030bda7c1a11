"""Groups that agree with the nearest rows and with the answers."""
