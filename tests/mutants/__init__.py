"""Seeded faults: does a test notice?"""
