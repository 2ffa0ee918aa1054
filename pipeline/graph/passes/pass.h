// An optimizer pass: rewrites the planned steps so that they do the same work faster. Made and
// owned by a PassList; stateless, so any thread may apply it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/graph/plan.h"

namespace headrace {

class Pass {
 public:
  virtual ~Pass() = default;
  // As in `optimize: {name: false}`.
  virtual std::string_view name() const = 0;
  virtual std::string_view help() const = 0;  // one line
  // Rewrites `plan` wherever its pattern stands, and adds a sentence to plan.rewrites each time:
  // "fused decode_image with random_resized_crop: only the needed region is decoded". The records
  // that leave must be those of the pipeline as written: steps that remain keep their
  // written_index, and a step that takes over random draws takes that index over too. True when
  // something changed. The steps are known to be right (names, parameters, types). An error is a
  // bug of the pass and fails the pipeline.
  virtual absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry& ops) const = 0;
};

// The passes that a role knows, in the order in which they run. Filled once by its owner, then read
// by any thread.
class PassList {
 public:
  void Add(std::unique_ptr<Pass> pass) { passes_.push_back(std::move(pass)); }
  const std::vector<std::unique_ptr<Pass>>& passes() const { return passes_; }
  // What YamlWords asks for.
  std::vector<std::string> names() const;
  // `def` as it will run: every pass applied that `def` does not switch off ("all" switches off
  // every one). INVALID_ARGUMENT when it names a pass that is not there.
  absl::StatusOr<Plan> Apply(const v1::PipelineDef& def, const OpRegistry& ops) const;

 private:
  std::vector<std::unique_ptr<Pass>> passes_;
};

}  // namespace headrace
