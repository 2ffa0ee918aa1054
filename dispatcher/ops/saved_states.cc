#include "dispatcher/ops/saved_states.h"

#include <algorithm>
#include <map>
#include <string>

#include "common/status.h"
#include "dispatcher/ops/difference.h"
#include "element/pipeline_sketch.h"

namespace headrace::dispatch {
namespace {

constexpr uint32_t kVersion = 1;
constexpr uint32_t kMostReaders = 100'000;

absl::Status CheckShape(const v1::LoaderState& state) {
  if (state.version() != kVersion) {
    return InvalidArgument("it is of version {}, this dispatcher reads version {}", state.version(),
                           kVersion);
  }
  if (state.readers() == 0 || state.readers() > kMostReaders || state.reader() >= state.readers()) {
    return InvalidArgument("it is of reader {} of {}", state.reader(), state.readers());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<const SavedState>>> DecodeStates(
    const v1::RestoreJobRequest& request) {
  std::vector<std::shared_ptr<const SavedState>> out;
  for (const v1::LoaderState& state : request.states()) {
    auto saved = std::make_shared<SavedState>();
    absl::Status status = CheckShape(state);
    if (status.ok()) status = saved->delivered.Merge(state.delivered());
    if (!status.ok()) {
      return Annotate(status,
                      fmt::format("saved state {} of {}", out.size() + 1, request.states_size()));
    }
    saved->state = state;
    out.push_back(std::move(saved));
  }
  return out;
}

absl::Status CheckState(const Job& job, const SavedState& saved) {
  const v1::LoaderState& state = saved.state;
  const auto refuse = [&](const std::string& difference) {
    return InvalidArgument("the saved state is not of job '{}': {}", job.name, difference);
  };
  const std::string difference =
      PipelineDifference(SketchOf(job.pipeline), state.pipeline(), {"now", "in the state"});
  if (!difference.empty()) return refuse(difference);
  if (state.dataset_version() != job.dataset->version) {
    return refuse(fmt::format("the dataset's files changed (version {} now, {} in the state)",
                              job.dataset->version, state.dataset_version()));
  }
  if (state.fingerprint() != job.fingerprint) {
    return refuse("another pipeline, or steps that another version of headrace made differently");
  }
  if (job.dataset->ordered.has_value() != state.has_ordered()) {
    return refuse(fmt::format("its ordering is {}, the job's {}",
                              state.has_ordered() ? "deterministic" : "free",
                              state.has_ordered() ? "free" : "deterministic"));
  }
  const uint64_t splits = job.dataset->splits.size();
  if (saved.delivered.split_bound() > splits ||
      saved.delivered.pass_bound() > job.dataset->passes) {
    return refuse(
        fmt::format("it names split {} and pass {}, the dataset has {} splits and {} "
                    "passes (another target_split_bytes?)",
                    saved.delivered.split_bound() - 1, saved.delivered.pass_bound() - 1, splits,
                    job.dataset->passes));
  }
  return absl::OkStatus();
}

absl::StatusOr<RestoredPosition> UniteStates(const PendingRestore& restore) {
  std::map<uint32_t, const SavedState*> by_reader;
  RestoredPosition position;
  uint32_t readers = 0;
  for (const auto& [number, reader] : restore.entries) {
    for (const auto& saved : reader.states) {
      const v1::LoaderState& state = saved->state;
      if (readers != 0 && readers != state.readers()) {
        return InvalidArgument("states of two checkpoints: one of {} readers, one of {}", readers,
                               state.readers());
      }
      readers = state.readers();
      by_reader[state.reader()] = saved.get();
      position.epoch = std::max(position.epoch, state.epoch());
    }
  }
  if (by_reader.size() != readers) {
    uint32_t missing = 0;
    while (by_reader.contains(missing)) ++missing;
    return InvalidArgument(
        "{} of the {} readers that saved have a state here, that of reader {} is missing: what it "
        "was handed would come again. Give load_state_dict() the states of all of them",
        by_reader.size(), readers, missing);
  }
  DeliveredSet all;
  for (const auto& [reader, saved] : by_reader) {
    // One that saved before the last epoch's end had nothing of this one.
    if (saved->state.epoch() != position.epoch) continue;
    HR_RETURN_IF_ERROR(all.Merge(saved->state.delivered()));
  }
  position.delivered = all.Encode();
  for (const auto& [reader, saved] : by_reader) {
    const v1::LoaderState& state = saved->state;
    if (!state.has_ordered()) continue;
    if (!position.ordered.has_value()) position.ordered = state.ordered();
    if (state.ordered().epoch() != position.ordered->epoch() ||
        state.ordered().batch() != position.ordered->batch()) {
      return InvalidArgument(
          "an ordered epoch goes on at one batch: reader {} saved at batch {} of epoch {}, others "
          "at batch {} of epoch {}; save all ranks after the same step",
          reader, state.ordered().batch(), state.ordered().epoch(), position.ordered->batch(),
          position.ordered->epoch());
    }
  }
  return position;
}

}  // namespace headrace::dispatch
