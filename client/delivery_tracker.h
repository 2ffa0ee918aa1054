// The client's side of exactly-once: what was handed to the trainer and not yet acknowledged, and
// which tasks are fenced. Thread-free logic: the Loader calls it under its mutex; the simulation
// drives it as it is.
//
// A report goes out with every beat until it is acknowledged; the dispatcher takes the union. A
// fence, once seen, is never lifted: frames of that task are not handed over any more, and the beat
// that confirms it carries every run of the task whose report was not acknowledged (visitation.md,
// point 5). What is too much for one message goes in several, confirmations in the last.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "element/frame_reader.h"
#include "element/provenance.h"
#include "headrace/v1/dispatcher.pb.h"

namespace headrace {

class DeliveryTracker {
 public:
  using Runs = std::map<uint64_t, std::vector<Run>>;  // by task
  // The dispatcher refuses messages with more (limits.max_runs_per_message is four times that).
  static constexpr size_t kMostRuns = 1'000'000;

  explicit DeliveryTracker(size_t most_runs = kMostRuns) : most_runs_(most_runs) {}

  // A new epoch: nothing is owed from before.
  void Reset();
  // The same epoch under a new client id: fences in force are told anew, reports that were not
  // acknowledged go out again.
  void Reincarnate();

  // The trainer has row `row` of `frame`. Precondition: its task is not fenced.
  void Delivered(const FrameView& frame, size_t row);
  // The same, by its runs.
  void Delivered(uint64_t task, std::span<const Run> runs);
  // Ordered: left out for good, by its runs.
  void Dropped(uint64_t task, std::span<const Run> runs);

  // Fills report_number, delivered and confirmed_fences with what is owed.
  void Fill(v1::ClientBeatRequest& request);
  // A shuffle's runs are single records, as they came; in their order they are few. Of reports that
  // are worth it: their runs, of which Merged makes what Replace puts in their place. What was
  // delivered by now is made a report first.
  std::vector<std::shared_ptr<const Runs>> Unmerged();
  static std::shared_ptr<const Runs> Merged(const Runs& runs);
  void Replace(const std::shared_ptr<const Runs>& runs, std::shared_ptr<const Runs> merged);
  // What was delivered since the last call, for the saved state.
  std::vector<std::shared_ptr<const Runs>> TakeFresh();

  // The answer to a beat. Returns the tasks that are fenced from now on (not before): drop what is
  // held of them.
  std::vector<uint64_t> OnReply(const v1::ClientBeatReply& reply);
  // The same for fences that were in force when the epoch was entered.
  void Fence(uint64_t task) { fenced_.insert(task); }

  bool fenced(uint64_t task) const { return fenced_.contains(task); }
  // There is something that no beat has carried yet.
  bool unsent() const { return !open_.empty() || !open_dropped_.empty() || backlog(); }
  // The last beat could not carry all.
  bool backlog() const { return carried_ < last_number_; }
  bool must_confirm() const { return !to_confirm_.empty(); }

 private:
  struct Report {
    uint64_t number;
    size_t size;  // in runs
    std::shared_ptr<const Runs> runs;
    Runs dropped;
    bool merged;
  };
  void Grown(size_t runs);
  void Seal();

  size_t most_runs_;
  Runs open_;  // since the last report was made
  Runs open_dropped_;
  size_t open_size_ = 0;
  std::deque<Report> sealed_;  // not acknowledged
  std::vector<std::shared_ptr<const Runs>> fresh_;
  uint64_t last_number_ = 0;  // of the reports made
  uint64_t carried_ = 0;      // of those that a beat has carried
  std::set<uint64_t> fenced_;
  std::set<uint64_t> to_confirm_;
};

}  // namespace headrace
