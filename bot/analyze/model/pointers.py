"""JSON pointers from their parts."""


def pointer(*parts: object) -> str:
    """An RFC 6901 pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
