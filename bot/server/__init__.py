"""The bot for the Hub: what arrives by webhook is put on a durable queue, and workers comment.

It needs the libraries of the extra `server`, and stands at the top of the import order, beside the command line and the action.
"""
