// One history, from its first event to the end: the real dispatcher service over a journal, model
// workers and clients, the faults of the plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dispatcher/fake_pipeline_resolver.h"
#include "dispatcher/service.h"
#include "tests/sim/client_model.h"
#include "tests/sim/watched_journal.h"
#include "tests/sim/worker_model.h"
#include "tests/sim/world.h"

namespace headrace::sim {

struct Outcome {
  std::string failure;  // "": every promise was kept
  absl::Duration took;  // virtual
  uint64_t events = 0;
  // How often what happened, from the journal: shows that the histories reach what they are meant
  // to test.
  std::map<std::string, uint64_t> seen;
};

class Cluster {
 public:
  explicit Cluster(const History& history);

  Outcome Run();

 private:
  void StartDispatcher();
  void CrashDispatcher();
  void Duties(uint64_t life);
  void PlanFaults();
  void At(absl::Duration when, std::function<void()> fault);
  void CrashWorker(uint64_t index);
  void CrashClient(uint64_t index);
  void LeaveClient(uint64_t index);
  void BreakStream();
  void Save();
  void RestoreAll(std::vector<v1::LoaderState> states);
  // Cut off from each other for a while. Null: the dispatcher.
  void CutOff(const Process* a, const Process* b, absl::Duration lasts);
  void CutWorker(WorkerModel& worker);
  void CutClient(ClientModel& client);
  // Streams between the two that nothing comes over any more, or all of them.
  void BreakBetween(const Process* a, const Process* b, bool all);
  bool Done() const;
  std::string Picture() const;
  // Adds the events that the journal has to what was seen: before it forgets them, and at the end.
  void CountEvents();
  void Compact();

  const History history_;
  Scheduler scheduler_;
  Random random_;
  Truth truth_;
  Network network_;
  std::vector<std::unique_ptr<WorkerModel>> workers_;
  std::vector<std::unique_ptr<ClientModel>> clients_;
  World world_;
  DispatcherConfig config_;
  FakePipelineResolver resolver_;
  WatchedJournal journal_{truth_};
  std::unique_ptr<DispatcherService> dispatcher_;
  uint64_t dispatcher_lives_ = 0;
  uint64_t restored_ = 0;
  // Of its own: whether snapshots are made changes nothing else.
  Random compactions_;
  bool compacted_ = false;  // since the dispatcher's last start
  std::map<std::string, uint64_t> seen_;
  std::string failure_;
};

}  // namespace headrace::sim
