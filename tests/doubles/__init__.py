"""Stand-ins for the services that the program talks to, on loopback, over real HTTP."""
