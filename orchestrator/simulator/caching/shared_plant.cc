#include "orchestrator/simulator/caching/shared_plant.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "orchestrator/capacity/allocator.h"
#include "orchestrator/sharing/known_future.h"
#include "orchestrator/sharing/look_ahead.h"

namespace headrace::orchestrate {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr std::array<uint32_t, 4> kSizes = {600, 1200, 2000, 4000};
constexpr std::array<double, 3> kSpeeds = {8, 16, 32};
constexpr size_t kSample =
    48;  // cached items among which the one that is needed last is looked for

void Invert(const std::vector<uint32_t>& order, std::vector<uint32_t>& place) {
  place.resize(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
}

}  // namespace

std::string_view Name(SharingPolicy policy) {
  switch (policy) {
    case SharingPolicy::kHeadrace:
      return "Headrace";
    case SharingPolicy::kLru:
      return "LRU sharing";
    case SharingPolicy::kEqualSplit:
      return "equal split";
    case SharingPolicy::kNoEvict:
      return "uniform, no evict (CoorDL)";
    case SharingPolicy::kQuiver2:
      return "hits first, k = 2 (Quiver)";
    case SharingPolicy::kQuiver10:
      return "hits first, k = 10 (Quiver)";
    case SharingPolicy::kHitsFirst:
      return "hits first, unbounded";
  }
  return "?";
}

SharedPlant::SharedPlant(const SharedPlantOptions& options, SharingPolicy policy, uint64_t seed)
    : o_(options), policy_(policy), random_(seed), policy_random_(seed + 1) {
  // With datasets of their own, one for each job that may ever come.
  const size_t count = o_.datasets > 0 ? o_.datasets : o_.seconds / 300 + 1;
  uint32_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    Dataset dataset;
    dataset.first = first;
    dataset.items = kSizes[random_.Below(kSizes.size())];
    first += dataset.items;
    dataset_of_.insert(dataset_of_.end(), dataset.items, i);
    datasets_.push_back(std::move(dataset));
  }
  place_.assign(first, kNone);
  used_at_.assign(first, 0);
}

bool SharedPlant::Lru() const {
  return policy_ == SharingPolicy::kLru || policy_ == SharingPolicy::kQuiver2 ||
         policy_ == SharingPolicy::kQuiver10;
}

size_t SharedPlant::Window(const Job& job) const {
  switch (policy_) {
    case SharingPolicy::kHeadrace: {
      // A reader that is alone gains nothing by order: what it has cached stays until it comes to
      // it.
      const auto readers = std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& other) {
        return other.second.dataset == job.dataset;
      });
      return readers > 1 ? LookAhead(job.hit_ratio) : 1;
    }
    case SharingPolicy::kQuiver2:
      return 2;
    case SharingPolicy::kQuiver10:
      return 10;
    case SharingPolicy::kHitsFirst:
      return 1000000;
    default:
      return 1;
  }
}

void SharedPlant::ComeAndGo(size_t second) {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    if (second < job->second.ends) {
      ++job;
      continue;
    }
    const size_t dataset = job->second.dataset;
    job = jobs_.erase(job);
    disturbed_ = true;
    const bool read = std::any_of(jobs_.begin(), jobs_.end(),
                                  [&](const auto& j) { return j.second.dataset == dataset; });
    // LRU forgets by itself; the others give back what nobody reads any more.
    if (!read && !Lru()) {
      while (!datasets_[dataset].resident.empty()) Remove(datasets_[dataset].resident.back());
    }
  }
  if (second % 300 != 0 || jobs_.size() >= o_.jobs) return;
  Job job;
  job.dataset = o_.datasets > 0 ? random_.Below(o_.datasets) : next_job_ % datasets_.size();
  job.full_speed = kSpeeds[random_.Below(kSpeeds.size())];
  job.ends = second + 1250 + random_.Below(2250);
  job.next_order.resize(datasets_[job.dataset].items);
  std::iota(job.next_order.begin(), job.next_order.end(), 0u);
  // A stream of its own for its shuffles: the world must not depend on how fast the policy is.
  SeededRandom shuffles(random_.Next());
  shuffles.Shuffle(job.next_order);
  NewEpoch(job);
  jobs_.emplace(next_job_++, std::move(job));
  disturbed_ = true;
}

void SharedPlant::NewEpoch(Job& job) {
  if (job.epoch > 1) {  // the first fills
    mixing_sum_ += BatchMixing(job.cached_in_order, 64);
    ++mixing_count_;
  }
  job.cached_in_order.clear();
  job.order = job.next_order;
  SeededRandom shuffles(job.order[0] * 7919u + job.order[1] + job.epoch * 104729u + job.ends);
  shuffles.Shuffle(job.next_order);
  Invert(job.order, job.place);
  job.read.assign(job.order.size(), 0);
  job.front = job.done = 0;
  ++job.epoch;
  job.chosen.clear();
  job.resident_at_epoch_start = static_cast<double>(datasets_[job.dataset].resident.size());
}

double SharedPlant::NeededIn(size_t dataset, uint32_t item) const {
  std::array<ItemReader, 16> readers;
  size_t count = 0;
  for (const auto& [number, job] : jobs_) {
    if (job.dataset != dataset || count == readers.size()) continue;
    ItemReader& reader = readers[count++];
    reader.items_per_second = job.full_speed;
    reader.read = job.read[item] != 0;
    reader.ahead =
        std::max(0.0, static_cast<double>(job.place[item]) - static_cast<double>(job.done));
    reader.left_in_epoch = static_cast<double>(job.order.size() - job.done);
    // As if the next order were not known: to keep what it begins with brings no more hits, and
    // makes epochs of hits first and misses after, in which the link and the trainer take turns.
    reader.next_epoch_ahead = static_cast<double>(job.order.size()) / 2;
  }
  return SecondsUntilNeeded(std::span(readers.data(), count));
}

size_t SharedPlant::LatestOfSample(Dataset& dataset, double* needed_in) {
  const auto which = static_cast<size_t>(&dataset - datasets_.data());
  std::array<double, kSample> needed;
  std::array<size_t, kSample> places;
  const size_t count = std::min(kSample, dataset.resident.size());
  for (size_t i = 0; i < count; ++i) {
    places[i] = policy_random_.Below(dataset.resident.size());
    needed[i] = NeededIn(which, dataset.resident[places[i]] - dataset.first);
  }
  const auto latest =
      std::max_element(needed.begin(), needed.begin() + static_cast<ptrdiff_t>(count));
  *needed_in = *latest;
  return places[static_cast<size_t>(latest - needed.begin())];
}

void SharedPlant::Insert(size_t dataset, uint32_t id) {
  place_[id] = static_cast<uint32_t>(datasets_[dataset].resident.size());
  datasets_[dataset].resident.push_back(id);
  ++resident_;
}

void SharedPlant::Remove(uint32_t id) {
  std::vector<uint32_t>& resident = datasets_[dataset_of_[id]].resident;
  const uint32_t hole = place_[id];
  resident[hole] = resident.back();
  place_[resident[hole]] = hole;
  resident.pop_back();
  place_[id] = kNone;
  --resident_;
}

void SharedPlant::AdmitLru(uint32_t id) {
  if (static_cast<double>(resident_) >= o_.budget) {
    Remove(by_use_.begin()->second);
    by_use_.erase(by_use_.begin());
  }
  Insert(dataset_of_[id], id);
  used_at_[id] = ++uses_;
  by_use_[uses_] = id;
}

void SharedPlant::Admit(Job& job, uint32_t id) {
  if (Lru()) return AdmitLru(id);
  Dataset& dataset = datasets_[job.dataset];
  const bool room_for_all = static_cast<double>(resident_) < o_.budget;
  const bool room = static_cast<double>(dataset.resident.size()) + 1 <= dataset.capacity;
  if (room && room_for_all) return Insert(job.dataset, id);
  if (!Managed() || dataset.resident.empty() || dataset.capacity < 1) return;
  double latest = 0;
  const size_t victim = LatestOfSample(dataset, &latest);
  const double incoming = NeededIn(job.dataset, id - dataset.first);
  if (!ChooseVictim(std::span(&latest, 1), incoming, false).admit) return;
  Remove(dataset.resident[victim]);
  Insert(job.dataset, id);
}

// True: it was cached. False: it was fetched.
bool SharedPlant::ReadOne(Job& job, uint32_t item) {
  const uint32_t id = datasets_[job.dataset].first + item;
  const bool hit = place_[id] != kNone;
  job.read[item] = 1;
  ++job.done;
  ++job.period_items;
  ++job.second_items;
  job.owed -= 1;
  job.cached_in_order.push_back(hit ? 1 : 0);
  if (hit && Lru()) {
    by_use_.erase(used_at_[id]);
    used_at_[id] = ++uses_;
    by_use_[uses_] = id;
  }
  if (!hit) {
    ++job.period_misses;
    Admit(job, id);
  }
  return hit;
}

// What the job reads next, by the look-ahead.
void SharedPlant::Choose(Job& job) {
  const auto need = static_cast<size_t>(std::ceil(std::max(1.0, job.owed)));
  const size_t looked = Window(job) * need;
  std::vector<uint32_t> items;
  std::vector<Residence> residence;
  while (job.front < job.order.size() && job.read[job.order[job.front]] != 0) ++job.front;
  for (size_t i = job.front; i < job.order.size() && items.size() < looked; ++i) {
    const uint32_t item = job.order[i];
    if (job.read[item] != 0) continue;
    items.push_back(item);
    residence.push_back(place_[datasets_[job.dataset].first + item] != kNone ? Residence::kHere
                                                                             : Residence::kCold);
  }
  job.chosen.clear();
  for (size_t place : ChooseLeases({residence, need, Window(job)}))
    job.chosen.push_back(items[place]);
  std::reverse(job.chosen.begin(), job.chosen.end());  // the next one is the last
}

void SharedPlant::Second() {
  double tokens = o_.link;
  for (auto& [number, job] : jobs_) {
    job.owed = std::min(job.owed + job.full_speed, 2 * job.full_speed);
    job.second_items = 0;
    Choose(job);
  }
  // Rounds: in each, every job that is not done reads up to its next miss, so that misses are
  // shared evenly.
  for (bool more = true; more;) {
    more = false;
    for (auto& [number, job] : jobs_) {
      while (job.owed >= 1) {
        if (job.chosen.empty()) {
          if (job.done == job.order.size()) NewEpoch(job);
          Choose(job);
        }
        const uint32_t item = job.chosen.back();
        const bool cached = place_[datasets_[job.dataset].first + item] != kNone;
        if (!cached && tokens < 1) break;
        job.chosen.pop_back();
        if (ReadOne(job, item)) continue;
        tokens -= 1;
        more = true;
        break;
      }
    }
  }
}

void SharedPlant::PlanManaged() {
  std::vector<BudgetClaim> claims(datasets_.size());
  for (size_t i = 0; i < datasets_.size(); ++i) {
    claims[i].cache = std::to_string(i);
    claims[i].weight = 0;
  }
  const double seconds = static_cast<double>(o_.period_seconds);
  double misses = 0;
  for (const auto& [number, job] : jobs_) misses += job.period_misses;
  const bool full = misses > 0.9 * o_.link * seconds;
  for (auto& [number, job] : jobs_) {
    const Dataset& dataset = datasets_[job.dataset];
    CapacityObservation seen;
    seen.dataset_bytes = dataset.items;
    seen.bytes_per_second = job.period_items / seconds;
    seen.stall = std::clamp(1 - seen.bytes_per_second / job.full_speed, 0.0, 1.0);
    seen.missed_bytes_per_second = job.period_misses / seconds;
    seen.hit_ratio = job.period_items > 0 ? 1 - job.period_misses / job.period_items : 0;
    seen.resident_bytes = static_cast<double>(dataset.resident.size());
    seen.resident_at_epoch_start = std::min(seen.resident_bytes, job.resident_at_epoch_start);
    seen.granted_bytes = dataset.capacity;
    seen.disturbed = disturbed_;
    seen.storage_full = full;
    CapacityDecision decision = DecideCapacity(CapacityConstants(), seen, std::move(job.state));
    job.state = std::move(decision.state);
    BudgetClaim& claim = claims[job.dataset];
    claim.want_bytes =
        std::max(claim.want_bytes, CapacityWant(CapacityConstants(), seen, job.state));
    claim.weight += 1;
    if (seen.stall > CapacityConstants().stall_low) claim.lend_bytes = dataset.items;
    claim.density += CapacityDensity(job.state, dataset.items);
  }
  disturbed_ = false;
  const auto grants = AllocateBudget(claims, o_.budget, 0.5);
  for (size_t i = 0; i < datasets_.size(); ++i) datasets_[i].capacity = grants[i].bytes;
}

void SharedPlant::Plan() {
  if (Managed()) {
    PlanManaged();
  } else {
    for (Dataset& dataset : datasets_)
      dataset.capacity = policy_ == SharingPolicy::kNoEvict ? o_.budget : 0;
    for (const auto& [number, job] : jobs_) {
      if (policy_ != SharingPolicy::kEqualSplit) break;
      datasets_[job.dataset].capacity += o_.budget / static_cast<double>(jobs_.size());
    }
  }
  for (auto& [number, job] : jobs_) {
    if (job.period_items > 0) job.hit_ratio = 1 - job.period_misses / job.period_items;
    job.period_items = job.period_misses = 0;
  }
}

// A cache above its part gives up a bounded number a second.
void SharedPlant::Trim() {
  if (Lru()) return;
  size_t left = o_.evictions_per_second;
  for (Dataset& dataset : datasets_) {
    while (left > 0 &&
           static_cast<double>(dataset.resident.size()) > std::max(0.0, dataset.capacity)) {
      double needed = 0;
      const size_t victim = Managed() ? LatestOfSample(dataset, &needed)
                                      : policy_random_.Below(dataset.resident.size());
      Remove(dataset.resident[victim]);
      --left;
    }
  }
}

SharedResult SharedPlant::Run() {
  double speeds = 0, least = 0, seconds = 0;
  for (size_t second = 0; second < o_.seconds; ++second) {
    ComeAndGo(second);
    if (second % o_.period_seconds == 0) Plan();
    Trim();
    Second();
    result_.most_used = std::max(result_.most_used, static_cast<double>(resident_) / o_.budget);
    if (second < o_.warm_up_seconds || jobs_.empty()) continue;
    double sum = 0, slowest = 1;
    for (auto& [number, job] : jobs_) {
      const double speed = std::min(1.0, job.second_items / job.full_speed);
      sum += speed;
      slowest = std::min(slowest, speed);
    }
    speeds += sum / static_cast<double>(jobs_.size());
    least += slowest;
    ++seconds;
  }
  result_.mean_speed = speeds / seconds;
  result_.least_speed = least / seconds;
  result_.mixing = mixing_sum_ / std::max(1.0, mixing_count_);
  return result_;
}

}  // namespace headrace::orchestrate
