"""The features that members are fitted to, given or computed from distances, in several views."""
