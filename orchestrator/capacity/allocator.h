// Who gets how much of a tier's budget, and when: AllocateBudget says what each cache should have;
// CapacityLedger says what each may have now, so that the tier never holds more than its budget
// while workers free bytes late, crash, or do not answer. Both deterministic: no clock, no I/O, no
// threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headrace::orchestrate {

// One cache: one prefix in one tier, whoever reads it.
struct BudgetClaim {
  std::string cache;
  double want_bytes = 0;
  double weight = 1;   // of its job; summed over sharers
  double density = 0;  // full speed per byte of dataset; summed over sharers
  // What is left when all have what they want is lent, up to this much, to the densest. Idle memory
  // serves nobody; it is taken back as soon as it is wanted.
  double lend_bytes = 0;
};

struct BudgetGrant {
  std::string cache;
  double bytes = 0;
  std::string reason;
};

// First a floor of min(want, floor_share * budget * weight / sum of weights) for each, then the
// rest to the densest. Grants are in the order of the claims; their sum is at most `budget`.
std::vector<BudgetGrant> AllocateBudget(const std::vector<BudgetClaim>& claims, double budget,
                                        double floor_share);

// What was granted, told, and is held. A cache's *claim* is the most that it can hold now: the
// limit its worker works by, which may be an older, larger one until the worker says otherwise.
// Claims rise only out of what is free and fall only when bytes were freed.
//
// Invariants after every call: sum of claims (with those that drain) <= budget, or, after the
// budget itself shrank, not above what it was before the call; 0 <= limit <= claim <= dataset of
// the cache; a cache that has ended has no limit and no claim: what it still holds is *draining*,
// and is nobody's.
class CapacityLedger {
 public:
  explicit CapacityLedger(double budget) : budget_(budget) {}

  struct Entry {
    double dataset_bytes = 0;
    double target = 0;       // what the allocator wants it to have
    double limit = 0;        // what its worker was last told
    double claim = 0;        // what it may hold at most
    int64_t generation = 0;  // of the limit
    int64_t acknowledged = 0;
  };
  struct Instruction {  // to be sent to the worker, again and again until it is acknowledged
    std::string cache;
    double limit = 0;
    int64_t generation = 0;
  };

  void SetBudget(double budget) { budget_ = budget; }
  void Join(const std::string& cache, double dataset_bytes);
  // The job has ended; what its worker holds drains. A second call, or one of an unknown cache, is
  // no error.
  void End(const std::string& cache);
  // What the worker holds, and the newest limit that it works by. Reports that were overtaken by
  // newer ones are harmless.
  void Report(const std::string& cache, double resident_bytes, int64_t generation);
  // The worker's memory is gone for certain: it said so, or its lease ran out and it stops by
  // itself.
  void Lost(const std::string& cache);
  // Once a period: the allocator's grants. A cache that is not named keeps its target. Returns the
  // limits that changed; shrinks come first.
  std::vector<Instruction> Plan(const std::vector<BudgetGrant>& grants);
  // What workers were told and have not reported back, limits of ended caches (0) among them.
  std::vector<Instruction> Unacknowledged() const;

  double budget() const { return budget_; }
  double claimed() const;  // of all, with what drains
  double draining() const;
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, Entry>& ended() const { return ended_; }

 private:
  double budget_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, Entry> ended_;  // that drain
  int64_t generation_ = 0;
};

}  // namespace headrace::orchestrate
