"""Docks molecules into a protein: how well do the search's best fit the pocket that the oracle stands for?"""
