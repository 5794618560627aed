"""What sessions and records add up to, for a person to decide on: candidates, rules, scripts,
duplicates, links.
"""
