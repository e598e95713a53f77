"""The commands of EvoDiverse.

`evodiverse` and `evodiverse-baseline` run searches, `evodiverse-show` and `evodiverse-tables` read their logs, and
`evodiverse-new` writes the files of a new task.
"""
