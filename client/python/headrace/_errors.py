"""What can go wrong, as exceptions. Each message is one line: what failed, where, what to do about it."""


class HeadraceError(Exception):
    """Anything that Headrace reports."""


class PipelineError(HeadraceError, ValueError):
    """The pipeline, or an argument, is wrong; raised at the line that is wrong."""


class NotFoundError(HeadraceError, FileNotFoundError):
    """No file matches, or no such job or worker."""

    def __str__(self):  # OSError would show its first argument as an errno
        return Exception.__str__(self)


class PermissionDeniedError(HeadraceError, PermissionError):
    """A file or directory that may not be read."""

    def __str__(self):
        return Exception.__str__(self)


class JobConflictError(HeadraceError):
    """A job of that name runs with another pipeline or other options."""


class DataLossError(HeadraceError):
    """Damaged bytes; the message has path, offset and record."""


class UnavailableError(HeadraceError, ConnectionError):
    """The dispatcher or a worker does not answer."""

    def __str__(self):
        return Exception.__str__(self)


class UnauthenticatedError(HeadraceError):
    """The cluster asks for a token or certificate that was not shown, or shows one that does not fit (docs/security.md)."""


class JobEndedError(HeadraceError):
    """The job failed or was cancelled."""


class ClosedError(HeadraceError):
    """Used after close(), or at the wrong time."""


class EpochOverError(HeadraceError):
    """The epoch was over before this rank came, or this rank has had it."""
