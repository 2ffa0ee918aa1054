// The real dispatcher's ops, called on a node's State: the node gets a new one when the op
// changed something. Every other party counts as just heard of.
#pragma once

#include <optional>
#include <utility>

#include "dispatcher/background/duties.h"
#include "dispatcher/context/restores.h"
#include "dispatcher/ops/ops.h"
#include "tests/model/bound.h"
#include "tests/model/node.h"

namespace headrace::model {

class Calls {
 public:
  explicit Calls(const Bound& bound);

  // Workers registered, a job open, its first epoch entered by every client.
  Node Start() const;

  v1::LeaseSplitsReply Lease(Node& node, const v1::LeaseSplitsRequest& request) const;
  v1::WorkerBeatReply WorkerBeat(Node& node, const v1::WorkerBeatRequest& request) const;
  v1::ClientBeatReply ClientBeat(Node& node, const v1::ClientBeatRequest& request) const;
  void CloseClient(Node& node, const v1::CloseClientRequest& request) const;
  void Register(Node& node, size_t worker) const;
  // Opens the job and enters the epoch; false when it is over.
  bool Enter(Node& node, ClientNow& client) const;
  // Clients anew in all places, from what was saved.
  void Restore(Node& node) const;
  void ExpireWorker(Node& node, uint64_t id) const;
  void ExpireClient(Node& node, uint64_t id) const;
  void Duties(Node& node) const;

 private:
  template <typename Op>
  auto Run(Node& node, Op&& op, uint64_t silent_worker = 0, uint64_t silent_client = 0) const;
  void NameTasks(Node& node) const;
  v1::OpenJobReply Open(dispatch::OpContext& context, uint64_t uid) const;
  bool Begin(dispatch::OpContext& context, ClientNow& client) const;
  std::shared_ptr<const dispatch::SavedState> StateOf(const v1::OpenJobReply& opened, size_t reader,
                                                      Elements handed) const;

  const Bound& bound_;
  DispatcherConfig config_;
};

// The ledger's word: elements that it counts as done (delivered or settled) and will not lease
// again. All of them once the epoch is over.
Elements DoneOf(const Bound& bound, const Node& node);

v1::Run RunOf(const Bound& bound, uint32_t element);
template <typename Runs>
void AddRuns(const Bound& bound, Elements elements, Runs* runs) {
  for (uint32_t e = 0; e < bound.elements(); ++e) {
    if ((elements >> e & 1) != 0) *runs->Add() = RunOf(bound, e);
  }
}
template <typename Runs>
Elements ElementsOf(const Bound& bound, const Runs& runs) {
  Elements elements = 0;
  for (const v1::Run& run : runs) {
    for (uint64_t i = run.first(); i < run.first() + run.count(); ++i) {
      elements |= Elements{1} << (run.split() * bound.records + i);
    }
  }
  return elements;
}

}  // namespace headrace::model
