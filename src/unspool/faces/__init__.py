"""The faces of unspool: the formats and questions of tools that people know, answered by the one engine."""
