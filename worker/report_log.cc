#include "worker/report_log.h"

#include <algorithm>

namespace headrace {

void ReportLog::Add(v1::SplitReport report) {
  Entry& entry = entries_.emplace_back();
  entry.split = std::move(report);
}

void ReportLog::Add(v1::TaskError error) {
  Entry& entry = entries_.emplace_back();
  entry.error = std::move(error);
  entry.is_error = true;
}

void ReportLog::Fill(v1::WorkerBeatRequest& request, size_t max_splits) {
  const uint64_t number = last_number_ + 1;
  bool anything_new = false;
  size_t sent = 0;
  for (Entry& entry : entries_) {
    if (sent++ == max_splits) break;
    if (entry.first_sent == 0) {
      entry.first_sent = number;
      anything_new = true;
    }
    if (entry.is_error) {
      *request.add_errors() = entry.error;
    } else {
      *request.add_splits() = entry.split;
    }
  }
  if (anything_new) last_number_ = number;
  request.set_report_number(last_number_);
}

void ReportLog::Acknowledge(uint64_t report_number) {
  while (!entries_.empty() && entries_.front().first_sent != 0 &&
         entries_.front().first_sent <= report_number) {
    entries_.pop_front();
  }
}

void ReportLog::Drop(uint64_t task) {
  std::erase_if(entries_, [task](const Entry& e) {
    return (e.is_error ? e.error.task() : e.split.task()) == task;
  });
}

}  // namespace headrace
