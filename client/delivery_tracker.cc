#include "client/delivery_tracker.h"

#include <algorithm>
#include <utility>

namespace headrace {
namespace {

void AddRuns(const std::map<uint64_t, std::vector<Run>>& runs,
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
  sealed_.push_back({++last_number_, open_size_, std::move(open_), std::move(open_dropped_)});
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
    AddRuns(report.runs, *request.mutable_delivered());
    AddRuns(report.dropped, *request.mutable_dropped());
  }
  request.set_report_number(number);
  carried_ = std::max(carried_, number);
  if (!all) return;
  for (uint64_t task : to_confirm_) request.add_confirmed_fences(task);
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
