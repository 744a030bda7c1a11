"""The log-det divergence solver that ITML, SKLR and SKMS share."""
