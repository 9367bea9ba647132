# SPDX-License-Identifier: EPL-2.0
"""What an export library of this package says of a layer to the template of the forward function."""


class LayerCall(str):
    """The text of one layer in ``forward()``.

    As a string it is what Aidge's own forward template prints; this package's template prints the parts instead.

    :ivar profile_entry: Name, operators and library as C++ literals.
    :ivar declarations: Pointers that are the same in every call.
    :ivar statements: What a call does before it runs the layer.
    :ivar prepare: Expression that sets the layer up, false when it fails; empty when there is nothing to set up.
    :ivar run: Expression that runs the layer, false when it fails; empty when there is nothing to run.
    :ivar runtime: Namespace of the C++ runtime, which has ``last_error`` and ``start()``.
    :ivar model_file: Name of the file that the layer reads when it starts, which must lie beside the program.
    :ivar unused: Pointers to outputs that are not computed; Aidge's template may name them.
    """

    comment: str
    profile_entry: str
    declarations: list[str]
    statements: list[str]
    prepare: str
    run: str
    runtime: str
    model_file: str

    def __new__(
        cls,
        *,
        comment: str,
        profile_entry: str,
        declarations: list[str] | None = None,
        statements: list[str] | None = None,
        prepare: str = "",
        run: str = "",
        unused: list[str] | None = None,
        runtime: str = "export_xnnpack",
        model_file: str = "",
    ) -> "LayerCall":
        declarations, statements = declarations or [], statements or []
        body = [f"// {comment}", *declarations, *(unused or []), *statements]
        if run:
            # Aidge's forward function has no way to tell a failure, and its callers would use outputs that are none.
            body.append(f"if (!{runtime}::start() || !{run}) {{ std::exit(EXIT_FAILURE); }}")
        call = super().__new__(cls, "\n    ".join(body))
        call.comment, call.profile_entry = comment, profile_entry
        call.declarations, call.statements, call.prepare, call.run = declarations, statements, prepare, run
        call.runtime, call.model_file = runtime, model_file
        return call
