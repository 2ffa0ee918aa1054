// Several jobs that come and go, over datasets that some of them share, one cache budget and one
// link to storage: what sharing policies are tried on. Item by item, real shuffles; misses are
// served max-min fair. One thread, one seed, one result.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "orchestrator/capacity/controller.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {

enum class SharingPolicy {
  kHeadrace,    // controller, allocator, known future, look-ahead
  kLru,         // one LRU cache for all
  kEqualSplit,  // the budget in equal parts, each kept as it is
  kNoEvict,     // whoever comes first, until nobody reads the dataset (CoorDL's uniform cache)
  kQuiver2,     // one LRU cache, hits first within 2 times the need
  kQuiver10,    // within 10 times
  kHitsFirst,   // as kHeadrace with no bound on the look-ahead: for batch mixing
};
std::string_view Name(SharingPolicy policy);

struct SharedPlantOptions {
  double budget = 4000;  // items
  double link = 40;      // items/s from storage, all jobs together
  size_t jobs = 8;       // at most at a time
  size_t datasets = 4;   // that jobs choose from; 0: each job has its own
  size_t seconds = 6000;
  size_t warm_up_seconds = 1000;
  size_t period_seconds = 5;  // of the controllers
  size_t evictions_per_second = 200;
};

struct SharedResult {
  double mean_speed = 0;   // of x/f*, over jobs and time
  double least_speed = 0;  // of the slowest job, over time
  double mixing = 0;       // BatchMixing of 64, mean over jobs
  double most_used = 0;    // of the budget
};

class SharedPlant {
 public:
  SharedPlant(const SharedPlantOptions& options, SharingPolicy policy, uint64_t seed);
  SharedResult Run();

 private:
  struct Dataset {
    uint32_t first = 0;  // its items' numbers
    uint32_t items = 0;
    double capacity = 0;
    std::vector<uint32_t> resident;
  };
  struct Job {
    size_t dataset = 0;
    double full_speed = 0;
    size_t ends = 0;
    std::vector<uint32_t> order, next_order;  // of the dataset's items
    std::vector<uint32_t> place;              // inverse
    std::vector<uint8_t> read;
    size_t front = 0, done = 0;
    double owed = 0;  // items that it may read now, by its own speed
    double resident_at_epoch_start = 0;
    size_t epoch = 0;
    double period_items = 0, period_misses = 0, hit_ratio = 0;
    CapacityState state;
    double wanted = 0;
    std::vector<uint8_t> cached_in_order;
    std::vector<uint32_t> chosen;  // of this second, still to read
    double second_items = 0;
  };

  bool Lru() const;
  bool Managed() const {
    return policy_ == SharingPolicy::kHeadrace || policy_ == SharingPolicy::kHitsFirst;
  }
  size_t Window(const Job& job) const;
  void ComeAndGo(size_t second);
  void NewEpoch(Job& job);
  void Plan();
  void PlanManaged();
  void Choose(Job& job);
  void Second();
  bool ReadOne(Job& job, uint32_t item);
  void Admit(Job& job, uint32_t id);
  void AdmitLru(uint32_t id);
  double NeededIn(size_t dataset, uint32_t item) const;
  size_t LatestOfSample(Dataset& dataset, double* needed_in);
  void Insert(size_t dataset, uint32_t id);
  void Remove(uint32_t id);
  void Trim();

  const SharedPlantOptions o_;
  const SharingPolicy policy_;
  SeededRandom random_;         // of the world: the same for every policy
  SeededRandom policy_random_;  // of what the policy samples
  std::vector<Dataset> datasets_;
  std::vector<size_t> dataset_of_;  // by item number
  std::vector<uint32_t> place_;     // in its dataset's resident, or none
  std::vector<uint64_t> used_at_;   // LRU
  std::map<uint64_t, uint32_t> by_use_;
  uint64_t uses_ = 0;
  size_t resident_ = 0;
  std::map<size_t, Job> jobs_;
  size_t next_job_ = 0;
  bool disturbed_ = false;
  SharedResult result_;
  double mixing_sum_ = 0, mixing_count_ = 0;
};

}  // namespace headrace::orchestrate
