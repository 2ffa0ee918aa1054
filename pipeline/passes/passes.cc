#include "pipeline/passes/passes.h"

namespace headrace {

void RegisterAll_passes(PassList& passes);  // generated from the files of this folder

PassList AllPasses() {
  PassList out;
  RegisterAll_passes(out);
  return out;
}

absl::StatusOr<Graph> BuildOptimized(const v1::PipelineDef& def, const Schema& source_schema,
                                     const OpRegistry& ops, std::string_view dataset_version) {
  return BuildOptimized(def, source_schema, ops, AllPasses(), dataset_version);
}

}  // namespace headrace
