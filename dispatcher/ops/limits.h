// Refuses messages that are larger than a peer may send, naming the limit's key.
#pragma once

#include <limits>

#include "common/status.h"
#include "dispatcher/dispatcher_config.h"
#include "dispatcher/ledger/run_set.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace::dispatch {

// Counts runs over the parts of one message.
class RunBudget {
 public:
  explicit RunBudget(const DispatcherLimits& limits) : limits_(limits) {}

  template <typename Runs>
  absl::Status Check(const Runs& runs) {
    for (const v1::Run& run : runs) {
      if (run.first() >= RunSet::kMaxRecords || run.count() > RunSet::kMaxRecords - run.first()) {
        return OutOfRange("run [{}, +{}) of split {}: a split has at most {} records", run.first(),
                          run.count(), run.split(), RunSet::kMaxRecords);
      }
      if (run.split() > std::numeric_limits<uint32_t>::max()) {
        return OutOfRange("split {}: a dataset has fewer", run.split());
      }
      // Parts are kept one by one.
      used_ += run.parts() > 1 ? run.count() : 1;
    }
    return CheckUsed();
  }
  // Places where a split is cut.
  absl::Status CheckCuts(const google::protobuf::RepeatedField<uint64_t>& cuts) {
    for (const uint64_t cut : cuts) {
      if (cut >= RunSet::kMaxRecords) {
        return OutOfRange("a cut at record {}: a split has at most {} records", cut,
                          RunSet::kMaxRecords);
      }
    }
    used_ += static_cast<uint64_t>(cuts.size());
    return CheckUsed();
  }

 private:
  absl::Status CheckUsed() const {
    if (used_ > static_cast<uint64_t>(limits_.max_runs_per_message)) {
      return OutOfRange("over {} runs in one message (limits.max_runs_per_message)",
                        limits_.max_runs_per_message);
    }
    return absl::OkStatus();
  }

  const DispatcherLimits& limits_;
  uint64_t used_ = 0;
};

}  // namespace headrace::dispatch
