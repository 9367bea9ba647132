# SPDX-License-Identifier: EPL-2.0
"""The order of the layers: the same in every run, so that the same model gives the same files."""

import aidge_core
from aidge_core.export_utils import set_nodes_names


class StableSchedule:
    """A scheduler whose order depends on the graph alone.

    Aidge's depends, where branches are independent, on where the nodes happen to lie in memory. This one comes from the
    outputs back: every layer directly before the first that needs it, inputs in their order.

    :param scheduler: A scheduler whose scheduling has been generated.
    :type scheduler: aidge_core.Scheduler
    """

    def __init__(self, scheduler: aidge_core.Scheduler) -> None:
        self._graph = scheduler.graph_view()
        scheduled = scheduler.get_sequential_static_scheduling()
        nodes = {node.id(): node for node in scheduled}
        # A node that runs several times means a cycle, whose order is Aidge's business.
        self._order = scheduled if len(nodes) < len(scheduled) else _from_outputs(self._graph, nodes)

    def get_sequential_static_scheduling(self) -> list[aidge_core.Node]:
        """The nodes, each after its inputs."""
        return self._order

    def rename(self, prefix: str = "") -> None:
        """Gives the nodes the names that Aidge gives them, which count the layers in their order.

        :param prefix: Put before each, where a program has several models.
        """
        # A name may be taken by a node that is about to get another.
        for index, node in enumerate(self._order):
            node.set_name(f"unnamed_{index}")
        set_nodes_names(self)
        for node in self._order:
            node.set_name(prefix + node.name())

    def graph_view(self) -> aidge_core.GraphView:
        """The graph."""
        return self._graph


def _from_outputs(graph: aidge_core.GraphView, nodes: dict[int, aidge_core.Node]) -> list[aidge_core.Node]:
    order: list[aidge_core.Node] = []
    done: set[int] = set()
    # Nodes that lead to no output come last.
    waiting = [node.id() for node, _ in graph.get_ordered_outputs()] + list(nodes)
    for output in waiting:
        path = [output]
        while path:
            node = nodes[path[-1]]
            missing = [
                parent.id()
                for parent, _ in node.inputs()
                if parent is not None and parent.id() in nodes and parent.id() not in done
            ]
            if missing and path[-1] not in done:
                path.append(missing[0])
                continue
            if path.pop() not in done:
                done.add(node.id())
                order.append(node)
    return order
