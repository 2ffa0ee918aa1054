// A client without threads and bytes: opens the job, reads its epochs, hands frames over to its
// trainer, beats, confirms fences, leaves.
// What it delivered and which fences it knows is kept by the real client/delivery_tracker.h.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "client/delivery_tracker.h"
#include "element/delivered_set.h"
#include "tests/sim/ordered.h"
#include "tests/sim/process.h"
#include "tests/sim/world.h"

namespace headrace::sim {

class ClientModel final : public Process {
 public:
  ClientModel(World& world, uint32_t rank) : Process(world.scheduler), world_(world), rank_(rank) {}

  uint64_t life() const { return lives_; }
  // All its epochs are read and it said goodbye.
  bool done() const { return done_; }
  bool reading() const { return alive() && phase_ == Phase::kReading; }
  void Start();
  void Crash();
  // What it would save now; ordered: what it would have saved after so many batches.
  v1::LoaderState State() const;
  v1::LoaderState StateAt(uint64_t batch) const;
  uint64_t epoch() const { return epoch_; }
  uint64_t batch() const { return hand_ == nullptr ? 0 : hand_->position().batch(); }
  // In place of Start: goes on from what all saved.
  void StartFrom(std::vector<v1::LoaderState> states);
  // Says goodbye in mid-epoch.
  void Leave();

  // From workers, over the network.
  void OnOpened(const std::shared_ptr<SimStream>& stream);
  void OnRefused(const std::shared_ptr<SimStream>& stream);
  void OnFrame(const std::shared_ptr<SimStream>& stream, const SimFrame& frame);
  void OnBroken(const std::shared_ptr<SimStream>& stream);
  void OnEnded(const std::shared_ptr<SimStream>& stream);
  std::vector<std::shared_ptr<SimStream>> OpenStreams() const;
  std::vector<std::shared_ptr<SimStream>> Streams() const;
  std::string Describe() const;

 private:
  enum class Phase { kOpening, kReading, kClosing };
  struct Connection {
    std::string address;
    std::shared_ptr<SimStream> stream;  // null: to be opened
    absl::Duration failing_since = absl::InfiniteDuration();
    absl::Duration retry_at = absl::ZeroDuration();
    bool opened = false;
    bool over = false;  // ended by the worker, or broken
  };
  bool Mine(const SimStream& stream) const { return stream.client_life == lives_; }
  void Open();
  void OnOpenedJob(const v1::OpenJobReply& reply);
  void Restore();
  void StartEpoch();
  void Close();
  // Ordered: given up in the midst of the epoch's sequence.
  bool Continues() const;
  // Goes on in this epoch from a checkpoint; one of an empty epoch has no place in it.
  bool Resumes() const {
    return resume_.has_value() && resume_->epoch() == epoch_ && resume_->lanes_size() != 0;
  }
  void BeginSequence(const v1::StartEpochReply& reply);
  void Tick(uint64_t reading);
  void Connect();
  void HandOver();
  void Report(const SimFrame& frame);
  // Ordered: so many batches, at most.
  void HandOverBatches(uint64_t most);
  void HandOver(const OrderedHand::Batch& batch);
  void AddWindows(v1::ClientBeatRequest& request) const;
  void TakeTasks(const google::protobuf::RepeatedPtrField<v1::TaskAddress>& tasks);
  void Beat(uint64_t reading);
  void OnBeat(const v1::ClientBeatReply& reply, uint64_t reading);
  void Lost();
  void LoseReports();
  void FinishEpoch();
  void DropStreams();
  World& world_;
  const uint32_t rank_;
  uint64_t lives_ = 0;
  bool done_ = false;
  Phase phase_ = Phase::kOpening;
  uint64_t uid_ = 0;
  uint64_t client_ = 0;
  uint64_t job_ = 0;
  uint64_t epoch_ = 0;
  std::optional<uint64_t> lost_in_;  // the epoch in which the dispatcher gave it up
  uint64_t readings_ = 0;            // counts starts of reading: timers of an earlier one are void
  absl::Duration timeout_;
  absl::Duration heard_ = absl::ZeroDuration();  // when the last answered beat was sent
  uint64_t tasks_version_ = 0;
  std::map<uint64_t, Connection> tasks_;
  std::set<uint64_t> broken_;
  std::deque<std::pair<std::shared_ptr<SimStream>, SimFrame>> held_;
  DeliveryTracker tracker_;
  std::vector<v1::LoaderState> states_;  // to go on from
  bool send_states_ = true;
  uint64_t incarnation_ = 0;
  std::string fingerprint_;
  std::string version_;
  DeliveredSet delivered_;  // of epoch_
  // Ordered.
  std::unique_ptr<OrderedHand> hand_;
  std::map<uint64_t, v1::OrderedPosition> positions_;  // of epoch_, by batch
  std::optional<v1::OrderedPosition> resume_;
};

}  // namespace headrace::sim
