// What users read about steps and formats, printed from what the code declares: docs/steps.md, and
// the typed methods of the Python package. Deterministic; the order is that of the arguments.
#pragma once

#include <span>
#include <string>

#include "pipeline/graph/format_words.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {

// Markdown: every step that a pipeline may name, then every format, with tables of their
// parameters.
std::string StepsPage(std::span<const OpSpec* const> ops, std::span<const FormatWords> formats);

// A Python stub (.pyi): class `Steps` with one typed method per step, in the order and with the
// names that printers.h describes, and a typed `read` per format. The package's Pipeline class
// derives from Steps.
std::string PythonStub(std::span<const OpSpec* const> ops, std::span<const FormatWords> formats);

}  // namespace headrace
