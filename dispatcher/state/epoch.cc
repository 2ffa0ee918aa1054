#include "dispatcher/state/epoch.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/random.h"

namespace headrace::dispatch {
namespace {

// Facts about retired splits that are kept for clients to hear of: those that are too slow for it
// have splits read again after a restore.
constexpr size_t kKeptNeeds = 1 << 18;
// RandomKey.step of the order in which an epoch's splits are dealt: no step of a pipeline has it.
constexpr uint32_t kDealingSplits = UINT32_MAX;

SplitPass ItemOf(const v1::Run& run) { return {static_cast<uint32_t>(run.split()), run.pass()}; }

}  // namespace

Epoch::Epoch(const v1::EpochStarted& event, std::shared_ptr<const JobData> data, uint32_t ranks)
    : number_(event.epoch()),
      data_(std::move(data)),
      ranks_(std::max(1u, ranks)),
      lane_per_worker_(event.lane_per_worker()) {
  // One walk over the splits fills the lists of all lanes by file.
  std::vector<std::shared_ptr<std::vector<uint32_t>>> by_slot;
  std::vector<uint32_t> order;
  for (const v1::LaneDef& def : event.lanes()) {
    std::shared_ptr<const std::vector<uint32_t>> splits;
    if (def.by_file()) {
      if (by_slot.empty()) {
        by_slot.resize(std::max(1u, def.slots()));
        for (auto& list : by_slot) list = std::make_shared<std::vector<uint32_t>>();
        for (size_t i = 0; i < data_->splits.size(); ++i) {
          by_slot[data_->splits.file_index(i) % by_slot.size()]->push_back(
              static_cast<uint32_t>(i));
        }
      }
      splits = by_slot[def.slot() % by_slot.size()];
    }
    if (def.has_ordered()) splits = OrderedSplits(def.ordered(), order);
    lanes_.push_back(MakeLane(def, std::move(splits)));
  }
}

std::shared_ptr<const std::vector<uint32_t>> Epoch::OrderedSplits(
    const v1::OrderedLaneDef& def, std::vector<uint32_t>& order) const {
  const size_t count = data_->splits.size();
  if (order.empty() && count != 0) {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0);
    RandomStream random({.seed = def.seed(), .epoch = number_, .step = kDealingSplits}, 0, 0);
    for (size_t i = count; def.shuffled() && i > 1; --i) {
      std::swap(order[i - 1], order[random.Below(i)]);
    }
  }
  auto splits = std::make_shared<std::vector<uint32_t>>();
  const size_t window = def.window() == 0 ? count : def.window();
  const size_t stride = window * std::max(1u, def.lanes());
  for (size_t first = def.lane() * window; first < count; first += stride) {
    const size_t end = std::min(count, first + window);
    splits->insert(splits->end(), order.begin() + static_cast<ptrdiff_t>(first),
                   order.begin() + static_cast<ptrdiff_t>(end));
  }
  return splits;
}

Lane Epoch::MakeLane(const v1::LaneDef& def,
                     std::shared_ptr<const std::vector<uint32_t>> splits) const {
  return Lane(def, std::move(splits), data_->splits.size(), data_->passes, data_->single_task);
}

bool Epoch::Holds(const Lane& lane, uint64_t split) const {
  const uint64_t slots = lane.def().slots();
  return !lane.def().by_file() || slots <= 1 ||
         data_->splits.file_index(split) % slots == lane.def().slot();
}

void Epoch::Restore(const DeliveredSet& delivered) {
  restored_ = true;
  if (lane_per_worker_) return;  // every worker delivers all, anew
  const auto inside = [this](uint64_t split, uint32_t pass) {
    return split < data_->splits.size() && pass < data_->passes;
  };
  delivered.ForEachRun([&](const Run& run) {
    if (!inside(run.split, run.pass)) return;
    v1::Run done;
    done.set_split(run.split);
    done.set_first(run.first);
    done.set_count(run.count);
    done.set_part(run.part);
    done.set_parts(run.parts);
    done.set_pass(run.pass);
    for (Lane& lane : lanes_) {
      if (Holds(lane, run.split)) counts_.restored += lane.Restore(ItemOf(done), done);
    }
  });
  counts_.delivered = counts_.restored;
  delivered.ForEachNeed([&](uint64_t split, uint32_t pass, uint64_t need) {
    if (!inside(split, pass)) return;
    for (Lane& lane : lanes_) {
      if (Holds(lane, split) && lane.RetireRestored({static_cast<uint32_t>(split), pass}, need)) {
        ++counts_.retired;
      }
    }
  });
}

absl::Status Epoch::Enter(ClientId client) {
  readers_.insert(client);
  return absl::OkStatus();
}

absl::Status Epoch::Assign(const v1::TaskAssigned& event) {
  const uint32_t lane = event.lane();
  const bool made = lane == lanes_.size() && lane_per_worker_ && !lanes_.empty();
  if (lane >= lanes_.size() && !made) return FailedPrecondition("no lane {}", lane);
  if (!made && !lanes_[lane].def().shared() && lanes_[lane].task) {
    return FailedPrecondition("lane {} has task {}", lane, lanes_[lane].task.value);
  }
  if (made) lanes_.push_back(MakeLane(lanes_.front().def(), nullptr));
  Task task;
  task.id = TaskId(event.task());
  task.worker = WorkerId(event.worker());
  task.lane = lane;
  task.replay = event.replay();
  lanes_[lane].worker = task.worker;
  if (!lanes_[lane].def().shared()) lanes_[lane].task = task.id;
  active_of_[task.worker].insert(task.id);
  ++active_tasks_;
  const TaskId id = task.id;
  tasks_[id] = std::move(task);
  ++tasks_version_;
  return absl::OkStatus();
}

void Epoch::Deliver(ClientId client, const v1::TaskRuns& runs) {
  counts_.delivered += Cover(client, runs);
}

uint64_t Epoch::PassedByAll(size_t lane) const {
  uint64_t all = std::numeric_limits<uint64_t>::max();
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    const auto it = passed_.find(rank);
    if (it == passed_.end()) return 0;
    all = std::min(all, it->second[lane]);
  }
  return all;
}

void Epoch::Pass(uint32_t rank, const v1::TaskRuns& windows) {
  if (!ordered()) return;
  std::vector<uint64_t>& passed = passed_[rank];
  passed.resize(lanes_.size());
  for (const v1::Run& run : windows.runs()) {
    if (run.split() >= lanes_.size()) continue;
    passed[run.split()] = std::max(passed[run.split()], run.first());
    const uint64_t before = lanes_[run.split()].retired();
    lanes_[run.split()].Pass(PassedByAll(run.split()));
    counts_.retired += lanes_[run.split()].retired() - before;
  }
}

bool Epoch::HasPassed(uint32_t rank, const v1::TaskRuns& windows) const {
  const auto it = passed_.find(rank);
  if (it == passed_.end()) return false;
  for (const v1::Run& run : windows.runs()) {
    if (run.split() < it->second.size() && it->second[run.split()] < run.first()) return false;
  }
  return true;
}

void Epoch::Drop(ClientId client, const v1::TaskRuns& runs) {
  counts_.settled += Cover(client, runs);
}

uint64_t Epoch::Cover(ClientId client, const v1::TaskRuns& runs) {
  const Task* task = FindTask(TaskId(runs.task()));
  if (task == nullptr) return 0;
  const uint32_t lane = task->lane;
  uint64_t total = 0;
  for (const v1::Run& run : runs.runs()) {
    cuts_records_ = cuts_records_ || run.parts() > 1;
    const uint64_t added = lanes_[lane].Cover(ItemOf(run), run);
    total += added;
    if (added != 0) RetireIfComplete(lane, ItemOf(run), client);
  }
  return total;
}

void Epoch::NoteNeed(ClientId client, SplitNeed need) {
  if (!readers_.contains(client)) return;
  Needs& needs = needs_[client];
  needs.list.push_back(need);
  if (needs.list.size() * readers_.size() <= kKeptNeeds) return;
  needs.list.pop_front();
  ++needs.first;
}

std::vector<SplitNeed> Epoch::NeedsFor(ClientId client, uint64_t& seen, size_t most) const {
  const auto it = needs_.find(client);
  if (it == needs_.end()) {
    seen = 0;
    return {};
  }
  const auto& [first, list] = it->second;
  const uint64_t from = std::clamp(seen, first, first + list.size());
  const uint64_t to = std::min(from + most, first + list.size());
  seen = to;
  return {list.begin() + static_cast<std::ptrdiff_t>(from - first),
          list.begin() + static_cast<std::ptrdiff_t>(to - first)};
}

void Epoch::Fence(const v1::TasksFenced& event) {
  FenceRound round;
  round.cause = event.cause();
  round.give_up = event.give_up();
  round.reason = event.reason();
  rebalanced_ = rebalanced_ || round.cause == v1::FENCE_CAUSE_REBALANCED;
  for (const uint64_t id : event.tasks()) {
    const auto it = tasks_.find(TaskId(id));
    if (it == tasks_.end() || it->second.fenced) continue;
    Task& task = it->second;
    task.fenced = true;
    --active_tasks_;
    std::set<TaskId>& active = active_of_[task.worker];
    active.erase(task.id);
    if (active.empty()) active_of_.erase(task.worker);
    if (lanes_[task.lane].task == task.id) lanes_[task.lane].task = TaskId();
    round.tasks.insert(task.id);
    if (round.cause == v1::FENCE_CAUSE_TASK_ERROR || round.cause == v1::FENCE_CAUSE_STREAM_BROKEN) {
      ++strikes_[task.worker];
    }
    if (round.cause == v1::FENCE_CAUSE_TASK_ERROR) ++task_errors_;
  }
  if (round.tasks.empty()) return;
  for (const uint64_t client : event.awaited()) {
    if (readers_.contains(ClientId(client))) round.awaited[ClientId(client)] = round.tasks;
  }
  ++tasks_version_;
  fences_.push_back(std::move(round));
  FinishRounds();
}

void Epoch::Confirm(ClientId client, const std::vector<TaskId>& tasks) {
  for (FenceRound& round : fences_) {
    const auto it = round.awaited.find(client);
    if (it == round.awaited.end()) continue;
    for (const TaskId task : tasks) it->second.erase(task);
    if (it->second.empty()) round.awaited.erase(it);
  }
  FinishRounds();
}

void Epoch::GrantSteps(const v1::StepsGranted& event) {
  steps_granted_ = std::max(steps_granted_, event.granted());
  steps_final_ = steps_final_ || event.final();
  counts_.dropped += event.dropped_records();
  counts_.padded += event.padded_batches();
}

void Epoch::Leave(ClientId client, bool give_up) {
  reader_left_ = reader_left_ || readers_.contains(client);
  readers_.erase(client);
  needs_.erase(client);
  for (FenceRound& round : fences_) {
    if (round.awaited.erase(client) != 0 && give_up) round.give_up = true;
  }
  FinishRounds();
}

void Epoch::FinishRounds() {
  for (auto it = fences_.begin(); it != fences_.end();) {
    if (!it->Complete()) {
      ++it;
      continue;
    }
    Release(*it);
    it = fences_.erase(it);
  }
}

const Task* Epoch::FindTask(TaskId id) const {
  const auto it = tasks_.find(id);
  return it == tasks_.end() ? nullptr : &it->second;
}

const Task* Epoch::FindActiveTask(TaskId id) const {
  const Task* task = FindTask(id);
  return task == nullptr || task->fenced ? nullptr : task;
}

std::vector<TaskId> Epoch::ActiveTasks() const {
  std::vector<TaskId> ids;
  for (const auto& [worker, tasks] : active_of_) ids.insert(ids.end(), tasks.begin(), tasks.end());
  std::ranges::sort(ids);
  return ids;
}

std::vector<TaskId> Epoch::ActiveTasksOf(WorkerId worker) const {
  const auto it = active_of_.find(worker);
  if (it == active_of_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

size_t Epoch::active_tasks_of(WorkerId worker) const {
  const auto it = active_of_.find(worker);
  return it == active_of_.end() ? 0 : it->second.size();
}

std::vector<TaskId> Epoch::FencedTasks() const {
  std::vector<TaskId> ids;
  for (const auto& [id, task] : tasks_) {
    if (task.fenced) ids.push_back(id);
  }
  return ids;
}

std::vector<TaskId> Epoch::FencesFor(ClientId client) const {
  std::vector<TaskId> ids;
  for (const FenceRound& round : fences_) {
    const auto it = round.awaited.find(client);
    if (it != round.awaited.end()) ids.insert(ids.end(), it->second.begin(), it->second.end());
  }
  return ids;
}

uint32_t Epoch::StrikesOf(WorkerId worker) const {
  const auto it = strikes_.find(worker);
  return it == strikes_.end() ? 0 : it->second;
}

uint64_t Epoch::pending() const {
  uint64_t pending = 0;
  for (const Lane& lane : lanes_) pending += lane.pending();
  return pending;
}

bool Epoch::Complete() const {
  if (!lane_per_worker_) return std::ranges::all_of(lanes_, &Lane::Done);
  // OFF: the lane of a worker that is gone holds nobody up, as long as some worker delivered its
  // all.
  return std::ranges::any_of(lanes_, &Lane::Done) &&
         std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.Done() || !lane.task; });
}

v1::EpochSummary Epoch::Summary() const {
  v1::EpochSummary summary;
  summary.set_delivered(counts_.delivered);
  summary.set_settled(counts_.settled);
  summary.set_failed(counts_.failed);
  summary.set_steps(steps_granted_);
  summary.set_dropped_records(counts_.dropped);
  summary.set_padded_batches(counts_.padded);
  for (const v1::FailureSample& sample : failures_) *summary.add_failures() = sample;
  return summary;
}

}  // namespace headrace::dispatch
