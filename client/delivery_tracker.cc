#include "client/delivery_tracker.h"

#include <utility>

namespace headrace {
namespace {

void AddRuns(const std::map<uint64_t, std::vector<Run>>& runs, v1::ClientBeatRequest& request) {
  for (const auto& [task, list] : runs) {
    v1::TaskRuns* out = request.add_delivered();
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
  sent_.clear();
  fenced_.clear();
  to_confirm_.clear();
}

void DeliveryTracker::Delivered(const FrameView& frame, size_t row) {
  frame.AppendRuns(row, row + 1, open_[frame.task()]);
}

void DeliveryTracker::Delivered(uint64_t task, std::span<const Run> runs) {
  std::vector<Run>& open = open_[task];
  for (const Run& run : runs) AppendRun(open, run);
}

void DeliveryTracker::Fill(v1::ClientBeatRequest& request) {
  if (!open_.empty()) {
    sent_.push_back({++last_number_, std::move(open_)});
    open_.clear();
  }
  request.set_report_number(last_number_);
  for (const Report& report : sent_) AddRuns(report.runs, request);
  for (uint64_t task : to_confirm_) request.add_confirmed_fences(task);
}

std::vector<uint64_t> DeliveryTracker::OnReply(const v1::ClientBeatReply& reply) {
  while (!sent_.empty() && sent_.front().number <= reply.acknowledged_report()) sent_.pop_front();
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
