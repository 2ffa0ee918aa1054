// What trainers got, against what they should have got.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "element/provenance.h"
#include "headrace/v1/journal.pb.h"
#include "tests/sim/history.h"

namespace headrace::sim {

class Truth {
 public:
  explicit Truth(const History& history) : history_(history) {}

  // A trainer was handed an element.
  void Deliver(uint64_t epoch, const RecordId& element);
  // Ordered: a rank was handed its part of a global batch.
  void DeliverBatch(uint64_t epoch, uint64_t number, uint32_t rank, std::vector<RecordId> elements);
  // A worker dropped it as part of a short last batch.
  void Drop(uint64_t epoch, const RecordId& element);
  // A client was lost with this handed over and not acknowledged: the only elements that may come
  // twice.
  void Lose(uint64_t epoch, const RecordId& element) { lost_.insert({epoch, element}); }

  // All trainers save; later they go on from there: what came since is forgotten.
  void Save() { saved_ = {delivered_, doubled_, dropped_, lost_}; }
  void GoBack() {
    delivered_ = saved_.delivered;
    doubled_ = saved_.doubled;
    dropped_ = saved_.dropped;
    lost_ = saved_.lost;
    between_lives_ = true;
  }
  // Ordered: the checkpoint is that of this batch, which some ranks are past.
  void SaveBefore(uint64_t epoch, uint64_t number) { saved_batch_ = {epoch, number}; }
  void GoBackToBatch();

  // What the dispatcher's ledger learns, and when it calls an epoch finished: each must be so by
  // then.
  void See(const v1::Event& event);

  // "" as long as no promise is broken.
  const std::string& failure() const { return failure_; }
  // "" when every epoch is whole, and nothing but lost reports was doubled.
  std::string Verdict() const;
  // "" when each epoch's global batches are those of `calm`, where nothing failed.
  std::string OutOfOrder(const Truth& calm) const;
  void Fail(std::string failure) {
    if (failure_.empty()) failure_ = std::move(failure);
  }

 private:
  using Key = std::tuple<uint64_t, RecordId>;
  std::vector<RecordId> Expected() const;
  // "" when nothing of the epoch is missing.
  std::string MissingIn(uint64_t epoch) const;
  void SeeDelivered(const v1::RunsDelivered& event);
  void SeeReports(const v1::SplitsReported& event);
  bool WithoutOutput(uint64_t epoch, const v1::Run& run, uint64_t record) const;
  std::vector<std::vector<RecordId>> SequenceOf(uint64_t epoch) const;

  const History& history_;
  std::set<Key> delivered_;
  std::set<Key> doubled_;
  std::set<Key> dropped_;
  std::set<Key> lost_;
  struct Saved {
    std::set<Key> delivered;
    std::set<Key> doubled;
    std::set<Key> dropped;
    std::set<Key> lost;
  };
  Saved saved_;
  // In all lives of the job: calls of an earlier one may still be under way.
  std::set<Key> ever_delivered_;
  std::set<Key> ever_dropped_;
  bool between_lives_ = false;                  // gone back, and the dispatcher has not heard of it
  std::map<uint64_t, uint64_t> epoch_of_;       // by task
  using Batch = std::pair<uint64_t, uint64_t>;  // epoch, number
  std::map<Batch, std::map<uint32_t, std::vector<RecordId>>> batches_;  // by rank
  Batch saved_batch_;
  std::string failure_;
};

}  // namespace headrace::sim
