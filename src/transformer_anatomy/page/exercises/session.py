"""What has been answered in this session: kept in the memory of the kernel, written nowhere, gone when it restarts."""

from dataclasses import dataclass


@dataclass
class Progress:
    """How often an exercise was tried up to its first right answer, and whether that has come."""

    tries: int = 0
    solved: bool = False

    @property
    def words(self) -> str:
        """The state as it stands in a table."""
        if not self.tries:
            return "not tried"
        if self.solved:
            return "solved at once" if self.tries == 1 else f"solved after {self.tries} tries"
        return "tried once" if self.tries == 1 else f"tried {self.tries} times"


_progress: dict[str, Progress] = {}


def remember(identifier: str, right: bool) -> None:
    """Counts one answer; what comes after the first right one changes nothing."""
    known = _progress.setdefault(identifier, Progress())
    if not known.solved:
        known.tries, known.solved = known.tries + 1, right


def progress(identifier: str) -> Progress:
    """What is known of an exercise in this session."""
    return _progress.get(identifier, Progress())


def forget() -> None:
    """Empties the memory, as a restart of the kernel does."""
    _progress.clear()
