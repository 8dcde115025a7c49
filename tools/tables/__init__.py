"""Reads the CUDA headers and writes cushim's tables. Started by generate_tables.py."""
