"""The sample question bank: templates written for this project, and what turns them into records.

One file per domain holds the templates, ``registry`` collects them, ``figures`` and ``charts`` draw.
"""
