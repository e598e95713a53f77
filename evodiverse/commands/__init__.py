"""The commands of EvoDiverse.

`evodiverse` and `evodiverse-baseline` run searches. `evodiverse-show`, `-report`, `-tables` and `-figures` read their
logs, `-dock` docks the molecules that they found, and `-predict` applies the equations. `-ask` and `-tell` are for
candidates that are measured by hand, `-new` writes the files of a new task, and `-doctor` checks the machine.
"""
