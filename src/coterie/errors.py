"""The one exception that a user's input can cause."""


class InputError(ValueError):
    """A mistake in what the user gave: an argument, a row or a file.

    The message is one sentence that names the culprit and says what to do. The command line prints it
    without a traceback; in Python it is a `ValueError`, as scikit-learn's users expect.
    """
