"""Graph GA: the classical operator of molecules, and what it is made of."""
