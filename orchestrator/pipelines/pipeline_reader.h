// What pipelines say of where rows may be kept, for the policies of caches, which see plain data.
// Asks the workers' own rules (pipeline/graph): a cut is one that they would take.
//
// Owned by the control loop, its thread's. A pipeline is read once per job.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "headrace/v1/fleet.pb.h"
#include "orchestrator/observation/observation.h"
#include "pipeline/catalog/catalog.h"

namespace headrace::orchestrate {

// An error: this build does not know what the pipeline is made of.
absl::StatusOr<PipelineFacts> FactsOf(const v1::PipelineDef& def, const v1::SchemaDef& source,
                                      const std::string& dataset_version, const Catalog& catalog);

class PipelineReader {
 public:
  // `catalog` outlives it.
  explicit PipelineReader(const Catalog& catalog) : catalog_(catalog) {}

  // Gives the jobs of `seen` their facts. `fleet` was asked for pipelines; what it leaves out is
  // forgotten.
  void Describe(const v1::ObserveFleetReply& fleet, Observation& seen);

 private:
  struct Read {
    std::string version;  // of the dataset
    std::shared_ptr<const PipelineFacts> facts;
    std::string why_not;
  };
  const Catalog& catalog_;
  uint64_t cluster_ = 0;
  std::map<uint64_t, Read> read_;  // by job
};

}  // namespace headrace::orchestrate
