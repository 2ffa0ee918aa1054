// All that this build knows: its steps, formats and optimizer passes. Made once by a role's main
// (or by a test), handed down by reference, read by any thread.
#pragma once

#include "pipeline/formats/format.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/graph/passes/pass.h"

namespace headrace {

struct Catalog {
  Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  OpRegistry ops;
  FormatRegistry formats;
  PassList passes;
};

}  // namespace headrace
