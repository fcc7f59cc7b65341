"""Problems that are known and not yet mended: (estimator, part of the message) -> why."""

KNOWN: dict[tuple[str, str], str] = {}


def is_known(name: str, problem: str) -> bool:
    return any(one == name and part in problem for one, part in KNOWN)
