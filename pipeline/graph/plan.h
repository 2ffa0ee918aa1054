// The steps that will run: the pipeline as written, after the optimizer's rewrites. A value; made
// by PlanOf and changed by passes (pipeline/graph/passes/) on one thread, while a task is being set
// up.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headrace/v1/pipeline.pb.h"

namespace headrace {

struct PlannedStep {
  v1::Step step;
  // Position in the pipeline as written, from 0. Random draws are keyed by it, so a rewrite must
  // keep the index of the step whose draws it takes over.
  size_t written_index = 0;
  // What messages and tables call it where a pass put an internal step in place of written ones:
  // "decode_image+resize". Empty: the step's own name.
  std::string shown_as = "";
};

struct Plan {
  std::vector<PlannedStep> steps;
  // One sentence per rewrite, for `headrace explain`.
  std::vector<std::string> rewrites;
};

// The steps of `def`, unchanged.
Plan PlanOf(const v1::PipelineDef& def);

}  // namespace headrace
