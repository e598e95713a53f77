"""The commands.

`evodiverse` and `evodiverse-baseline` make runs, `evodiverse-show` and `evodiverse-tables` read them, `evodiverse-new`
writes the files of a new task.
"""
