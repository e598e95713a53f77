"""The classical operator of programs, which mutates and crosses syntax trees."""
