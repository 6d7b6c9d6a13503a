"""What slurmd runs as root: the client of ``bridged``, short-lived, standard library only, Python >= 3.6.

Everything a job can choose (comment, paths, files) is read here as that job's user and never as root;
nothing a job can choose says where this package looks for its own files.
"""
