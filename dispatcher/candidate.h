// One of several dispatchers over one etcd: waits until it is the leader, replays the journal into
// a fresh service, opens the gate, and closes it when its term ends; then it waits again. Owned by
// Dispatcher.
//
// Its thread does all of that, and the duties of the service while it leads; a second one makes
// snapshots. An error of etcd is ridden through; one of the journal (damage) is logged and shown in
// Ready(), and tried again, for somebody may repair it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/sync/cancellation.h"
#include "common/sync/thread.h"
#include "dispatcher/dispatcher_config.h"
#include "dispatcher/dispatcher_metrics.h"
#include "dispatcher/etcd/election.h"
#include "dispatcher/etcd/etcd_client.h"
#include "dispatcher/etcd/leadership.h"
#include "dispatcher/journal/etcd_journal.h"
#include "dispatcher/leader_gate.h"
#include "dispatcher/service.h"

namespace headrace {

class Candidate {
 public:
  // All outlive it.
  struct Deps {
    EtcdClient* etcd = nullptr;
    LeaderGate* gate = nullptr;
    PipelineResolver* resolver = nullptr;
    const Clock* clock = nullptr;
    DispatcherMetrics* metrics = nullptr;
    const JournalMetrics* journal_metrics = nullptr;
    uint64_t new_cluster = 0;  // see DispatcherService::Deps
  };
  // `address`: where this dispatcher is reached, for those that another one sends here.
  Candidate(const DispatcherConfig& config, std::string address, Deps deps);
  ~Candidate();  // Stop()
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  // Gives the leadership up, so that another takes it at once. No call may run in the gate any
  // more. Idempotent; waits for calls to etcd that run, a few seconds at most.
  void Stop();

  // For people: "leader", "follower; the leader is at 10.0.0.2:5050".
  std::string Role() const;
  // OK, with Role(): it answers calls, or knows who does. Else UNAVAILABLE that says why.
  absl::StatusOr<std::string> Ready() const;
  // OK while it leads.
  absl::StatusOr<std::string> Leads() const;

 private:
  // What lives as long as a term, and as long as calls run in it.
  struct Term {
    std::unique_ptr<Leadership> leadership;
    std::unique_ptr<EtcdJournal> journal;
    std::unique_ptr<DispatcherService> service;
  };

  void Run();
  void Lead(std::shared_ptr<Term> term);
  std::shared_ptr<Term> MakeTerm(std::unique_ptr<Leadership> leadership);
  // Until the term is over: OK; or the journal has failed: how.
  absl::Status Serve(Term& term);
  void SetRole(bool leads, std::string leader, absl::Status trouble);

  const DispatcherConfig config_;
  const std::string address_;
  const Deps deps_;
  const absl::Duration poll_;
  Election election_;
  CancellationSource stop_;
  std::vector<std::shared_ptr<Term>> retired_;  // calls still run in them; the thread's

  mutable absl::Mutex mutex_;
  bool leads_ ABSL_GUARDED_BY(mutex_) = false;
  std::string leader_ ABSL_GUARDED_BY(mutex_);
  absl::Status trouble_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Term> term_ ABSL_GUARDED_BY(mutex_);  // for Stop
  Thread thread_;
};

}  // namespace headrace
