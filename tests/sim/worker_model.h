// A worker without threads and bytes: registers, beats, pulls leases, reads records one by one,
// filters, fails, cuts, shuffles, batches, takes and sends. Its talk with the dispatcher is the
// real one (worker/lease_puller.h, worker/report_log.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/ordered.h"
#include "tests/sim/process.h"
#include "tests/sim/world.h"
#include "worker/lease_puller.h"
#include "worker/report_log.h"

namespace headrace::sim {

class WorkerModel final : public Process {
 public:
  WorkerModel(World& world, uint64_t index);

  const std::string& address() const { return address_; }
  uint64_t life() const { return lives_; }
  void Start();
  void Crash();
  // Says goodbye and stops, with all that it holds.
  void Leave();
  void Drain() { draining_ = true; }
  // The next task that reads meets a passing error.
  void FailOnce() { fail_once_ = true; }

  // From clients, over the network.
  void OnOpen(const std::shared_ptr<SimStream>& stream);
  void OnClosed(const std::shared_ptr<SimStream>& stream);
  const std::vector<std::shared_ptr<SimStream>>& streams() const { return streams_; }

 private:
  struct Element {
    RecordId id;
    uint64_t lease = 0;
  };
  struct Reading {
    v1::Lease lease;
    uint64_t next = 0;
    uint64_t end = UINT64_MAX;                          // it was cut there, or is a piece
    std::set<uint64_t> skip;                            // whole records
    std::set<std::pair<uint64_t, uint32_t>> skip_part;  // (record, part)
  };
  struct Task {
    Task(const History& history, uint64_t worker, const v1::TaskDef& d)
        : def(d), puller(worker, d.task()) {
      if (d.has_ordered()) lane.emplace(history, d);
    }
    v1::TaskDef def;
    LeasePuller puller;
    std::deque<Reading> readings;
    std::vector<Element> held;  // shuffled, waiting to be batched
    std::deque<SimFrame> out;
    std::optional<LaneModel> lane;                     // ordered: in the place of held and out
    std::map<uint64_t, std::vector<RecordId>> passed;  // take: per lease, what it let pass
    v1::Lease last_lease;
    uint64_t skipped = 0;
    uint64_t taken = 0;
    bool satisfied = false;
    bool failed = false;
  };

  void Register();
  void BeatSoon(absl::Duration delay);
  void Beat();
  void OnBeat(const v1::WorkerBeatReply& reply);
  void Forget(uint64_t task);
  void Work();
  void Pull(Task& task);
  void TellCached(v1::LeaseSplitsRequest& request);
  void Read(Task& task);
  // Gives up some of what it has not read, if it has any.
  void Shed(Task& task);
  // False when `take` is satisfied.
  bool ReadRecord(Task& task, Reading& reading, v1::SplitReport& report);
  void MakeFrames(Task& task, bool flush);
  void Satisfy(Task& task);
  void Abandon(Task& task, const v1::Lease& lease);
  void Send(Task& task);
  void SendPieces(Task& task);
  void Transmit(const std::shared_ptr<SimStream>& stream, SimFrame frame);
  v1::SplitReport ReportOn(const Task& task, const v1::Lease& lease) const;

  World& world_;
  const std::string address_;
  uint64_t lives_ = 0;
  uint64_t uid_ = 0;
  uint64_t id_ = 0;
  bool draining_ = false;
  bool fail_once_ = false;
  std::map<uint64_t, Task> tasks_;
  ReportLog reports_;
  std::vector<std::shared_ptr<SimStream>> streams_;
};

}  // namespace headrace::sim
