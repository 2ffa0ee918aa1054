// The part of `headrace explain` that is known before anything runs: what each step does to the
// stream. Costs are measured by the engine and added by the command. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/graph.h"

namespace headrace {

// For people: a table of the source and the steps that run (parameters as given, kind,
// fingerprint of the stream up to there, what leaves), then the optimizer's rewrites and what the
// pipeline asks of the cluster. `graph` must come from `def`.
std::string ExplainText(const v1::PipelineDef& def, const Graph& graph);
// The same for programs: {"name", "seed", "fingerprint", "source", "steps": [...], "segments",
// "rewrites", ...}; a dynamic dim is null, an unknown shape too. Steps are in the order in which
// they run.
nlohmann::ordered_json ExplainJson(const v1::PipelineDef& def, const Graph& graph);

}  // namespace headrace
