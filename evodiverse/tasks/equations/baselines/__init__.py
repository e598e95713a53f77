"""Other engines for symbolic regression, which serve as baselines, one file each (see ``engine.py``).

They run in separate processes: a signal stops them at once, whatever their libraries are doing.
"""
