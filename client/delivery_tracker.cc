#include "client/delivery_tracker.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace headrace {
namespace {

constexpr size_t kWorthMerging = 256;  // runs

// In the order of their records, those that follow on each other as one.
void Merge(std::vector<Run>& runs) {
  const auto place = [](const Run& run) {
    return std::tie(run.split, run.pass, run.parts, run.part, run.first);
  };
  std::sort(runs.begin(), runs.end(),
            [&](const Run& a, const Run& b) { return place(a) < place(b); });
  std::vector<Run> merged;
  for (const Run& run : runs) AppendRun(merged, run);
  runs = std::move(merged);
}

size_t SizeOf(const DeliveryTracker::Runs& runs) {
  size_t size = 0;
  for (const auto& [task, list] : runs) size += list.size();
  return size;
}

void AddRuns(const DeliveryTracker::Runs& runs,
             google::protobuf::RepeatedPtrField<v1::TaskRuns>& to) {
  for (const auto& [task, list] : runs) {
    v1::TaskRuns* out = to.Add();
    out->set_task(task);
    for (const Run& run : list) {
      v1::Run* r = out->add_runs();
      r->set_split(run.split);
      r->set_first(run.first);
      r->set_count(run.count);
      r->set_part(run.part);
      r->set_parts(run.parts);
      r->set_pass(run.pass);
    }
  }
}

}  // namespace

void DeliveryTracker::Reset() {
  open_.clear();
  open_dropped_.clear();
  open_size_ = 0;
  sealed_.clear();
  fresh_.clear();
  carried_ = last_number_;
  fenced_.clear();
  to_confirm_.clear();
}

void DeliveryTracker::Reincarnate() {
  fenced_.clear();
  to_confirm_.clear();
}

void DeliveryTracker::Grown(size_t runs) {
  open_size_ += runs;
  if (open_size_ >= most_runs_) Seal();
}

void DeliveryTracker::Seal() {
  if (open_.empty() && open_dropped_.empty()) return;
  auto runs = std::make_shared<const Runs>(std::move(open_));
  if (!runs->empty()) fresh_.push_back(runs);
  sealed_.push_back(
      {++last_number_, open_size_, std::move(runs), std::move(open_dropped_), /*merged=*/false});
  open_.clear();
  open_dropped_.clear();
  open_size_ = 0;
}

void DeliveryTracker::Delivered(const FrameView& frame, size_t row) {
  std::vector<Run>& open = open_[frame.task()];
  const size_t before = open.size();
  frame.AppendRuns(row, row + 1, open);
  Grown(open.size() - before);
}

void DeliveryTracker::Delivered(uint64_t task, std::span<const Run> runs) {
  std::vector<Run>& open = open_[task];
  const size_t before = open.size();
  for (const Run& run : runs) AppendRun(open, run);
  Grown(open.size() - before);
}

void DeliveryTracker::Dropped(uint64_t task, std::span<const Run> runs) {
  std::vector<Run>& open = open_dropped_[task];
  const size_t before = open.size();
  for (const Run& run : runs) AppendRun(open, run);
  Grown(open.size() - before);
}

void DeliveryTracker::Fill(v1::ClientBeatRequest& request) {
  Seal();
  size_t size = 0;
  uint64_t number = last_number_;
  bool all = true;
  for (const Report& report : sealed_) {
    if (size != 0 && size + report.size > most_runs_) {
      number = report.number - 1;
      all = false;
      break;
    }
    size += report.size;
    AddRuns(*report.runs, *request.mutable_delivered());
    AddRuns(report.dropped, *request.mutable_dropped());
  }
  request.set_report_number(number);
  carried_ = std::max(carried_, number);
  if (!all) return;
  for (uint64_t task : to_confirm_) request.add_confirmed_fences(task);
}

std::vector<std::shared_ptr<const DeliveryTracker::Runs>> DeliveryTracker::Unmerged() {
  Seal();
  std::vector<std::shared_ptr<const Runs>> unmerged;
  for (const Report& report : sealed_) {
    if (!report.merged && report.size >= kWorthMerging) unmerged.push_back(report.runs);
  }
  return unmerged;
}

std::shared_ptr<const DeliveryTracker::Runs> DeliveryTracker::Merged(const Runs& runs) {
  auto merged = std::make_shared<Runs>(runs);
  for (auto& [task, list] : *merged) Merge(list);
  return merged;
}

void DeliveryTracker::Replace(const std::shared_ptr<const Runs>& runs,
                              std::shared_ptr<const Runs> merged) {
  for (Report& report : sealed_) {
    if (report.runs != runs) continue;
    report.size = SizeOf(*merged) + SizeOf(report.dropped);
    report.runs = merged;
    report.merged = true;
  }
  std::ranges::replace(fresh_, runs, std::move(merged));
}

std::vector<std::shared_ptr<const DeliveryTracker::Runs>> DeliveryTracker::TakeFresh() {
  Seal();
  return std::exchange(fresh_, {});
}

std::vector<uint64_t> DeliveryTracker::OnReply(const v1::ClientBeatReply& reply) {
  while (!sealed_.empty() && sealed_.front().number <= reply.acknowledged_report()) {
    sealed_.pop_front();
  }
  std::vector<uint64_t> fresh;
  // The dispatcher repeats a fence until it has our confirmation.
  to_confirm_.clear();
  for (uint64_t task : reply.fences()) {
    to_confirm_.insert(task);
    if (fenced_.insert(task).second) fresh.push_back(task);
  }
  return fresh;
}

}  // namespace headrace
