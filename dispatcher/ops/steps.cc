#include "dispatcher/ops/steps.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "common/status.h"
#include "dispatcher/ops/progress.h"

namespace headrace::dispatch {
namespace {

// Enough for a step's jitter; at the end of the epoch it is shared out anew anyway.
constexpr uint32_t kHold = 4;

struct Ranks {
  uint64_t least = std::numeric_limits<uint64_t>::max();  // that every rank is sure of or holds
  uint64_t most = 0;
  uint64_t least_handed = std::numeric_limits<uint64_t>::max();
  uint64_t held = 0;  // sum
  uint64_t held_records = 0;
};

bool AllHaveCome(const Job& job) {
  return job.epoch->readers().size() >= std::max(1u, job.options.world_size());
}

// Nothing when a rank has not come yet, or not said anything.
std::optional<Ranks> Look(const OpContext& context, const Job& job) {
  const Epoch& epoch = *job.epoch;
  if (!AllHaveCome(job)) return std::nullopt;
  Ranks ranks;
  for (const ClientId client : epoch.readers()) {
    const auto it = context.telemetry.steps.find(client);
    if (it == context.telemetry.steps.end()) return std::nullopt;
    const v1::StepsReport& steps = it->second;
    // What a fence takes away is not to be counted on: it may have been reported before.
    const bool fenced = !epoch.FencesFor(client).empty();
    const uint64_t has = fenced ? steps.sure() : steps.held();
    ranks.least = std::min(ranks.least, has);
    ranks.most = std::max(ranks.most, has);
    ranks.least_handed = std::min(ranks.least_handed, steps.handed());
    ranks.held += has;
    ranks.held_records += steps.held_records();
  }
  return ranks;
}

void Grant(OpContext& context, const Job& job, v1::StepsGranted granted) {
  v1::Event event;
  granted.set_job(job.id.value);
  granted.set_epoch(job.epoch->number());
  *event.mutable_steps_granted() = std::move(granted);
  context.changes.Make(std::move(event));
}

// Every record that is not done is in some client's hands: none comes any more.
bool Quiet(const Epoch& epoch, uint64_t held_records) {
  if (epoch.pending() != 0 || !epoch.fences().empty()) return false;
  uint64_t owed = 0;
  for (const auto& [number, lease] : epoch.leases().all()) {
    const std::optional<uint64_t> left = epoch.Owed(lease);
    if (!left.has_value()) return false;
    owed += *left;
  }
  return owed == held_records;
}

void Decide(OpContext& context, const Job& job, const Ranks& ranks) {
  const uint64_t granted = job.epoch->steps_granted();
  const uint64_t readers = job.epoch->readers().size();
  const uint64_t left = ranks.held - readers * granted;
  v1::StepsGranted final;
  final.set_final(true);
  switch (job.options.uneven()) {
    case v1::UNEVEN_PAD:
      if (granted == 0) {
        EndJob(context, job.id, absl::StatusCode::kFailedPrecondition,
               fmt::format("uneven: pad: epoch {} has {} batches for {} ranks, and who has none "
                           "has nothing to repeat",
                           job.epoch->number(), left, readers));
        return;
      }
      final.set_granted(granted + 1);
      final.set_padded_batches(readers - left);
      break;
    case v1::UNEVEN_ERROR:
      EndJob(context, job.id, absl::StatusCode::kFailedPrecondition,
             fmt::format("uneven: error: after {} batches for each of {} ranks, {} are left in "
                         "epoch {}; `drop` or `pad` them, or choose another batch size",
                         granted, readers, left, job.epoch->number()));
      return;
    default:
      final.set_granted(granted);
      final.set_dropped_records(ranks.held_records);
      break;
  }
  Grant(context, job, final);
}

void Finish(OpContext& context, const Job& job) {
  v1::Event event;
  event.mutable_epoch_finished()->set_job(job.id.value);
  event.mutable_epoch_finished()->set_epoch(job.epoch->number());
  context.changes.Make(std::move(event));
}

}  // namespace

bool IsUneven(const Job& job) {
  return job.options.uneven() != v1::UNEVEN_UNSPECIFIED && job.options.uneven() != v1::UNEVEN_FREE;
}

absl::Status CheckUneven(const v1::JobOptions& options, const JobData& dataset) {
  if (options.uneven() == v1::UNEVEN_UNSPECIFIED || options.uneven() == v1::UNEVEN_FREE) {
    return absl::OkStatus();
  }
  if (options.world_size() == 0) return InvalidArgument("uneven needs world_size");
  if (!dataset.batched) return InvalidArgument("uneven needs a pipeline that ends with batches");
  if (dataset.single_task) return InvalidArgument("uneven does not go with take and skip");
  if (options.sharding() != v1::SHARDING_UNSPECIFIED &&
      options.sharding() != v1::SHARDING_DYNAMIC) {
    return InvalidArgument("uneven needs sharding dynamic");
  }
  if (options.visitation() != v1::VISITATION_UNSPECIFIED &&
      options.visitation() != v1::VISITATION_EXACTLY_ONCE) {
    return InvalidArgument("uneven needs visitation exactly_once");
  }
  return absl::OkStatus();
}

void AdvanceSteps(OpContext& context, JobId id) {
  const Job* job = context.state().jobs().Find(id);
  if (job == nullptr || !job->epoch.has_value() || !IsUneven(*job)) return;
  const Epoch& epoch = *job->epoch;
  if (epoch.cuts_records()) {
    EndJob(context, id, absl::StatusCode::kInvalidArgument,
           "uneven does not go with steps that cut a record into several elements");
    return;
  }
  // It came out even (an empty epoch does so at once, and is not over before the last rank has
  // come: that one would find it gone); or a reader left, and the others cannot stay in step with
  // it.
  const bool even = epoch.Complete() && AllHaveCome(*job);
  if (!epoch.steps_final() && (even || epoch.reader_left())) {
    v1::StepsGranted final;
    final.set_granted(epoch.steps_granted());
    final.set_final(true);
    Grant(context, *job, final);
  }
  if (epoch.steps_final()) {
    const bool all = std::ranges::all_of(epoch.readers(), [&](ClientId client) {
      const auto it = context.telemetry.steps.find(client);
      return it != context.telemetry.steps.end() && it->second.handed() >= epoch.steps_granted();
    });
    if (all) Finish(context, *job);
    return;
  }
  const std::optional<Ranks> ranks = Look(context, *job);
  if (!ranks.has_value()) return;
  if (ranks->least > epoch.steps_granted()) {
    v1::StepsGranted more;
    more.set_granted(ranks->least);
    Grant(context, *job, more);
  }
  const uint64_t granted = epoch.steps_granted();
  if (ranks->most <= granted || !Quiet(epoch, ranks->held_records)) return;
  const uint64_t left = ranks->held - epoch.readers().size() * granted;
  // Others hand over what they are sure of first: only then is all that is held for sharing out.
  if (ranks->least_handed < granted) return;
  if (left < epoch.readers().size() && ranks->most <= granted + 1) {
    Decide(context, *job, *ranks);
    AdvanceSteps(context, id);  // all may be there already
  } else {
    FenceTasks(context, *job, epoch.ActiveTasks(), v1::FENCE_CAUSE_REBALANCED,
               "the last batches are shared out over the ranks");
  }
}

uint32_t StepsHold(const Epoch& epoch) { return epoch.rebalanced() ? 1 : kHold; }

}  // namespace headrace::dispatch
