// What the passes have in common that change the order of steps.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/graph/passes/pass.h"
#include "pipeline/graph/plan.h"

namespace headrace {

// A planned step as its op declares itself (OpTraits).
struct DeclaredStep {
  OpTraits traits;
  bool stateless = false;

  bool Touches(const std::string& field) const;
  // Both say which fields they work on, and share none.
  bool ApartFrom(const DeclaredStep& other) const;
};

// A pass that moves single steps to where they save work, over others that they commute with.
class StepMover : public Pass {
 public:
  absl::StatusOr<bool> Apply(Plan& plan, const OpRegistry& ops) const override;

 protected:
  // Which step has its turn first: the one that leaves room for others of its kind.
  enum class Turns { kFirstStepFirst, kLastStepFirst };
  // `why` ends the sentence about a move: "moved 3:filter in front of 1:decode_image: " + why.
  StepMover(Turns turns, std::string_view why) : turns_(turns), why_(why) {}

 private:
  // Where the step at `at` is to stand, once it was taken out; `at` when it stays.
  virtual size_t PlaceOf(const Plan& plan, const std::vector<DeclaredStep>& declared,
                         size_t at) const = 0;

  const Turns turns_;
  const std::string_view why_;
};

}  // namespace headrace
