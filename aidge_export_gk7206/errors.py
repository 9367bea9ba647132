# SPDX-License-Identifier: EPL-2.0
"""What users see: what is wrong, and what to do about it."""


class ExportError(RuntimeError):
    """Something that the user can mend.

    :param problem: What is wrong and where, e.g. ``"layer 'conv_1' (Conv): 3-D kernels are not supported"``.
    :type problem: str
    :param remedy: What to do about it.
    :type remedy: str
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}: {remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy


class ArgumentError(ExportError):
    """An argument of the command line that is wrong: exit code 2."""
