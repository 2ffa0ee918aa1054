// What is asked of states that trainers hand in: they come from files, and may be of another
// pipeline, damaged, or too few.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "dispatcher/context/restores.h"
#include "dispatcher/state/job.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace::dispatch {

// Decodes and checks what can be checked without knowing the job; slow for large states, so it is
// done without the service's mutex. INVALID_ARGUMENT names the state and what is wrong with it.
absl::StatusOr<std::vector<std::shared_ptr<const SavedState>>> DecodeStates(
    const v1::RestoreJobRequest& request);

// INVALID_ARGUMENT with the difference when the state is of another pipeline, seed or dataset than
// the job's.
absl::Status CheckState(const Job& job, const SavedState& saved);

// What all readers that saved had delivered, of the epoch to go on with.
struct RestoredPosition {
  uint64_t epoch = 0;
  v1::DeliveredSet delivered;
  std::optional<v1::OrderedPosition> ordered;  // the same of all
};
// INVALID_ARGUMENT when a reader's state is missing, or states are not of one checkpoint.
absl::StatusOr<RestoredPosition> UniteStates(const PendingRestore& restore);

}  // namespace headrace::dispatch
