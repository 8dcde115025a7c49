"""Reads the CUDA headers and generates cushim's tables. Used by generate_tables.py."""
