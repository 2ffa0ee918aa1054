#include "dispatcher/ops/locality.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace headrace::dispatch {
namespace {

// For so long a task leaves to others what they have. Later it makes that itself, until there is
// something else for it again: their workers may be slow, or hang.
constexpr absl::Duration kPatience = absl::Seconds(1);
// And for so long where some have not begun, so that it is not known what they have: they hear of
// the epoch with their next beat.
constexpr absl::Duration kPatienceWithNewcomers = absl::Seconds(3);

bool FollowsCaches(const Job& job, const Task& task) {
  return !job.dataset->single_task && job.epoch->lanes()[task.lane].def().shared();
}

bool MayCache(const Job& job) {
  if (job.options.cache() == v1::CACHING_OFF) return false;
  if (job.options.cache() == v1::CACHING_AUTO) return true;
  return std::ranges::any_of(job.pipeline.steps(),
                             [](const v1::Step& step) { return step.op() == "cache"; });
}

// Of the lane's tasks whose workers can be given leases.
struct Others {
  std::vector<std::pair<TaskId, uint64_t>> told;  // the asker among them
  size_t untold = 0;                              // the asker not among them
};

Others OthersOf(const OpContext& context, const Epoch& epoch, const Task& task) {
  Others others;
  for (const TaskId id : epoch.ActiveTasks()) {
    const Task& other = *epoch.FindTask(id);
    if (other.lane != task.lane) continue;
    const Worker* worker = context.state().workers().Find(other.worker);
    if (worker == nullptr || worker->state != WorkerState::kReady) continue;
    const auto held = context.holdings.tasks.find(id);
    if (held != context.holdings.tasks.end() && held->second.told) {
      others.told.emplace_back(id, held->second.telling);
    } else if (id != task.id) {
      ++others.untold;
    }
  }
  return others;
}

const Roaring& HeldTogether(OpContext& context, JobId job, const Others& others) {
  Holdings::Together& together = context.holdings.together[job];
  if (together.of == others.told) return together.splits;
  together.of = others.told;
  together.splits = Roaring();
  for (const auto& [id, telling] : others.told) {
    together.splits |= context.holdings.tasks[id].splits;
  }
  return together.splits;
}

}  // namespace

size_t LookAhead(double share) {
  const double bounded = std::clamp(share, 0.1, 1.0);
  return static_cast<size_t>(std::min(10.0, std::ceil(1 / bounded - 1e-9)));
}

bool TakeHoldings(OpContext& context, const Job& job, const Task& task,
                  const v1::LeaseSplitsRequest& request) {
  if (!FollowsCaches(job, task) || !MayCache(job)) return true;
  Holdings& holdings = context.holdings;
  if (!request.tells_cached()) {
    const auto held = holdings.tasks.find(task.id);
    return held != holdings.tasks.end() && held->second.told;
  }
  Holdings::Held& held = holdings.tasks[task.id];
  Roaring told;
  uint64_t split = 0;
  for (int i = 0; i < request.cached_splits_size(); ++i) {
    const uint64_t distance = request.cached_splits(i);
    split = i == 0 ? distance : split + distance;
    // Whoever tells of splits that there are not, or twice of one, is not believed further.
    if (split >= job.dataset->splits.size() || (i != 0 && distance == 0)) break;
    told.add(static_cast<uint32_t>(split));
  }
  told.runOptimize();
  if (!held.told) {  // it is waited for from now on
    for (const TaskId other : job.epoch->ActiveTasks()) {
      const auto waiting = holdings.tasks.find(other);
      if (waiting != holdings.tasks.end()) waiting->second.waits.reset();
    }
  }
  held.splits = std::move(told);
  held.told = true;
  held.telling = ++holdings.tellings;
  return true;
}

Choice ChoosePieces(OpContext& context, const Job& job, const Task& task, size_t want) {
  const Epoch& epoch = *job.epoch;
  const Lane& lane = epoch.lanes()[task.lane];
  Choice choice;
  const auto found = context.holdings.tasks.find(task.id);
  const bool told = found != context.holdings.tasks.end() && found->second.told;
  if (!told || epoch.active_tasks() < 2 || !FollowsCaches(job, task) || !lane.has_pending()) {
    choice.pieces = lane.Next(want);
    return choice;
  }
  Holdings::Held& held = found->second;
  const Others others = OthersOf(context, epoch, task);
  const Roaring& all = HeldTogether(context, job.id, others);
  if (all.isEmpty()) {
    choice.pieces = lane.Next(want);
    return choice;
  }
  // Who has something itself knows that there were epochs before: others may have the rest, too.
  const bool unknown = others.untold != 0 && !held.splits.isEmpty();
  const double own = static_cast<double>(held.splits.cardinality());
  const double cold = static_cast<double>(job.dataset->splits.size() - all.cardinality());
  const size_t window = want * LookAhead(own + cold > 0 ? own / (own + cold) : 1);

  struct Place {
    uint64_t at;
    Piece piece;
  };
  std::vector<Place> here, nowhere, elsewhere;
  uint64_t looked = 0;
  lane.ForEachNext([&](const Piece& piece) {
    const bool own_split = held.splits.contains(piece.split);
    const bool others_have = !own_split && (unknown || all.contains(piece.split));
    (own_split ? here : others_have ? elsewhere : nowhere).push_back({looked, piece});
    return ++looked < Lane::kMostPassedOver && here.size() < want &&
           here.size() + nowhere.size() < window;
  });
  Holdings::Counts& counts = context.holdings.counts;
  if (here.empty() && nowhere.empty()) {
    if (!held.waits.has_value()) held.waits = context.now;
    if (context.now - *held.waits < (unknown ? kPatienceWithNewcomers : kPatience)) {
      ++counts.held_back;
      choice.left_to_others = true;
      return choice;
    }
    // What they come to last.
    const size_t taken = std::min(want, elsewhere.size());
    counts.elsewhere += taken;
    for (const Place& place : std::span(elsewhere).last(taken))
      choice.pieces.push_back(place.piece);
    return choice;
  }
  held.waits.reset();
  here.resize(std::min(want, here.size()));
  nowhere.resize(std::min(want - here.size(), nowhere.size()));
  counts.here += here.size();
  counts.cold += nowhere.size();
  here.insert(here.end(), nowhere.begin(), nowhere.end());
  std::ranges::sort(here, {}, &Place::at);
  for (const Place& place : here) choice.pieces.push_back(place.piece);
  return choice;
}

void CollectHoldings(OpContext& context) {
  absl::erase_if(context.holdings.tasks, [&](const auto& entry) {
    const Job* job = context.state().JobOf(entry.first);
    return job == nullptr || job->epoch->FindActiveTask(entry.first) == nullptr;
  });
  absl::erase_if(context.holdings.together, [&](const auto& entry) {
    const Job* job = context.state().jobs().Find(entry.first);
    return job == nullptr || !job->epoch.has_value();
  });
}

}  // namespace headrace::dispatch
