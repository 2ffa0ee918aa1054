// What passes ask that change the order of steps.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/graph/op_registry.h"
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

// One for each step of `plan`, in its order. INTERNAL when a step cannot be made.
absl::StatusOr<std::vector<DeclaredStep>> DeclaredSteps(const Plan& plan, const OpRegistry& ops);

// Takes the step at `from` out and puts it where it then stands at `to`.
template <typename T>
void MoveStep(std::vector<T>& steps, size_t from, size_t to) {
  T moved = std::move(steps[from]);
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(from));
  steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(to), std::move(moved));
}

// "3:filter": as metrics and tables call it.
std::string LabelOf(const PlannedStep& planned);

}  // namespace headrace
