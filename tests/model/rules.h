// What may happen next in a node, and what then is. Pure: a node and an action give the same node
// always.
#pragma once

#include <string>
#include <vector>

#include "tests/model/calls.h"
#include "tests/model/node.h"

namespace headrace::model {

class Rules {
 public:
  explicit Rules(const Bound& bound) : bound_(bound), calls_(bound) {}

  Node Start() const { return calls_.Start(); }
  // Some may turn out to change nothing.
  std::vector<Action> Enabled(const Node& node) const;
  Node After(const Node& node, Action action) const;
  // Every client has read its epoch to the end, or is gone for good.
  bool Finished(const Node& node) const;
  // In words, for a trace: what `action` does in `before`, and what that led to.
  std::string Describe(const Node& before, Action action, const Node& after) const;

 private:
  void EnabledOfWorker(const Node& node, uint8_t w, std::vector<Action>& out) const;
  void EnabledOfClient(const Node& node, uint8_t c, std::vector<Action>& out) const;
  void WorkerStep(Node& node, Action action) const;
  void ClientStep(Node& node, Action action) const;

  // Workers.
  void Lease(Node& node, WorkerNow& worker, RunningTask& task, bool answered) const;
  void Read(Node& node, WorkerNow& worker, RunningTask& task, uint8_t client) const;
  void EndOfSplits(WorkerNow& worker, RunningTask& task) const;
  void Send(Node& node, RunningTask& task, uint8_t client) const;
  void WorkerBeat(Node& node, size_t w, bool answered) const;
  void ComeBack(Node& node, size_t w) const;
  v1::WorkerBeatRequest BeatOf(const WorkerNow& worker) const;
  v1::LeaseSplitsRequest LeaseOf(const WorkerNow& worker, RunningTask& task) const;

  // Clients.
  v1::ClientBeatRequest BeatOf(const ClientNow& client) const;
  void ClientBeat(Node& node, ClientNow& client) const;
  void Hear(Node& node, ClientNow& client) const;
  void HandOver(Node& node, ClientNow& client, const Frame& frame) const;
  void HandOverFirst(Node& node, ClientNow& client, uint8_t task) const;
  void DropFenced(ClientNow& client) const;
  void Leave(Node& node, ClientNow& client) const;
  void Lose(Node& node, const ByTask& owed) const;
  void Arrive(Node& node, const LateCall& call) const;

  void Check(Node& node) const;

  const Bound& bound_;
  const Calls calls_;
};

}  // namespace headrace::model
