# SPDX-License-Identifier: EPL-2.0
"""The export node of the operator ``XmmGraph``."""

import json
import shutil
from pathlib import Path
from typing import Any

import aidge_core
from aidge_core.export_utils import ExportNodeCpp

from aidge_export_gk7206.assets import asset
from aidge_export_gk7206.code_text import c_comment, c_float, c_list, c_string
from aidge_export_gk7206.layer_call import LayerCall
from aidge_export_gk7206.naming import sanitize_name
from aidge_export_gk7206.npu.golden import golden_files
from aidge_export_gk7206.npu.library import XMM_GRAPH, ExportLibGK7206

_RUNTIME = "export_xmedia"
_ANY = aidge_core.ImplSpec(aidge_core.IOSpec(aidge_core.dtype.any, aidge_core.dformat.any))


@ExportLibGK7206.register_generic(XMM_GRAPH, _ANY)
class XmmGraph(ExportNodeCpp):
    """One session of the NPU: see runtime/xmedia/session.hpp."""

    def __init__(
        self, node: aidge_core.Node, mem_info: list[dict[str, Any]], instance_count: int | None = None
    ) -> None:
        super().__init__(node, mem_info, instance_count)
        self.config_template = str(asset("templates", "npu", "xmm_graph.jinja"))
        self.config_extension = "hpp"
        self.include_list: list[str] = []
        self.kernels_to_copy: list[dict[str, Any]] = []
        self.mem_info = mem_info
        attributes = node.get_operator().attr
        self.file = Path(attributes.get_attr("file"))
        self.tables: dict[str, Any] = json.loads(attributes.get_attr("session"))
        self.chosen = [int(index) for index in attributes.get_attr("chosen")]
        self.layer = str(attributes.get_attr("layer"))
        self.attributes.update(
            file=model_file_name(self.file),
            title=c_comment(f'{node.type()} "{self.layer}": the model {self.file.name}, on the NPU'),
            tables=self.tables,
            c_float=c_float,
            c_list=c_list,
            c_string=c_string,
        )

    def export(self, export_folder: str | Path) -> list[str]:
        # The folder is that of the sources; the model lies beside the program.
        project = Path(export_folder).parent
        shutil.copyfile(self.file, project / model_file_name(self.file))
        # The simulator answers with them.
        for file in golden_files(self.file, len(self.tables["outputs"])):
            shutil.copyfile(file, project / file.name)
        return list(super().export(export_folder))

    def forward(self) -> list[str]:
        names = [str(name) for name in self.attributes["out_name"]]
        declarations = [
            f"float* const {name} = reinterpret_cast<float*>("
            f"mem_{int(entry.get('mem_component_id', 0))} + {entry['offset']});"
            for name, entry in zip(names, self.mem_info, strict=True)
        ]
        session, source = f"layers::{self.attributes['name']}", self.attributes["in_name"][0]
        write = "write_raw" if self.tables["raw"] else "write"
        steps = [f"{session}.{write}(0, {source})", f"{session}.run()"]
        steps += [f"{session}.read({index}, {name})" for index, name in zip(self.chosen, names, strict=True)]
        return [
            LayerCall(
                comment=str(self.attributes["title"]),
                profile_entry=", ".join(map(c_string, (self.layer, XMM_GRAPH, "export_gk7206"))),
                declarations=declarations,
                # It may be open already, where a layer behind it failed to start.
                prepare=f"({session}.is_open() || "
                f"{session}.open({_RUNTIME}::model_path({c_string(model_file_name(self.file))})))",
                run="(" + " &&\n              ".join(steps) + ")",
                runtime=_RUNTIME,
                model_file=model_file_name(self.file),
            )
        ]


def model_file_name(path: Path) -> str:
    """Name of a model beside the program: plain, whatever the file was called."""
    return f"{sanitize_name(path.stem)}.xmm"
