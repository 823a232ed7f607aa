"""Recorded traffic: its files, its matching, its secrets. The only package that knows vcrpy.

Files are vcrpy's version 1 layout, so that vcrpy and pytest-recording play what we write.
"""
