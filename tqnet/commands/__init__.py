"""The commands of ``tqnet``, one per file: ``add(subparsers)`` and ``run(arguments) -> exit code``."""
