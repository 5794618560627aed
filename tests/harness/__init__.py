"""What end-to-end tests stand on: scripted model APIs on loopback, a world for the real client, git
over HTTP.
"""
