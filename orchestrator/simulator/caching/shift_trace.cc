#include "orchestrator/simulator/caching/shift_trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

constexpr double kDay = 24 * 3600;
constexpr size_t kPast = 40;    // partitions that are there when the trace begins, one a day
constexpr size_t kSample = 32;  // cached segments among which the lowest is looked for

size_t Zipf(SeededRandom& random, size_t count, double skew) {
  double total = 0;
  for (size_t i = 0; i < count; ++i) total += std::pow(static_cast<double>(i + 1), -skew);
  double left = random.Uniform() * total;
  for (size_t i = 0; i < count; ++i) {
    left -= std::pow(static_cast<double>(i + 1), -skew);
    if (left <= 0) return i;
  }
  return count - 1;
}

// Jobs of one campaign read the same partitions, and mostly the same columns.
void AddCampaign(const ShiftTraceOptions& o, double at, SeededRandom& random, ShiftTrace& trace) {
  const size_t table = Zipf(random, o.tables, o.table_skew);
  const auto today = kPast + static_cast<size_t>(at / kDay);
  const auto days = static_cast<size_t>(random.LogUniform(3, 30));
  const double column_share = random.Uniform(0.2, 0.8);
  std::vector<bool> columns;
  for (size_t c = 0; c < o.column_groups; ++c) columns.push_back(random.Chance(column_share));
  const auto jobs = static_cast<size_t>(1 + random.Exponential(o.jobs_per_campaign - 1));
  for (size_t j = 0; j < jobs; ++j) {
    ShiftJob job;
    job.begins = at + (j == 0 ? 0 : random.Uniform(0, o.campaign_hours * 3600));
    job.known_at = random.Chance(o.queued_share) ? job.begins - o.queued_hours * 3600 : job.begins;
    std::vector<bool> own = columns;
    for (size_t c = 0; c < own.size(); ++c) {
      if (random.Chance(0.1)) own[c] = !own[c];
    }
    for (size_t day = today - days; day < today; ++day) {
      for (size_t c = 0; c < own.size(); ++c) {
        for (size_t s = 0; own[c] && s < o.segments_per_group; ++s) {
          const size_t partition = table * (kPast + o.days) + day;
          job.segments.push_back(
              static_cast<uint32_t>((partition * o.column_groups + c) * o.segments_per_group + s));
        }
      }
    }
    if (!job.segments.empty()) trace.jobs.push_back(std::move(job));
  }
}

}  // namespace

ShiftTrace MakeShiftTrace(const ShiftTraceOptions& o, uint64_t seed) {
  SeededRandom random(seed);
  ShiftTrace trace;
  trace.seconds = static_cast<double>(o.days) * kDay;
  trace.seconds_per_segment = o.seconds_per_segment;
  trace.segments = o.tables * (kPast + o.days) * o.column_groups * o.segments_per_group;
  for (double at = random.Exponential(kDay / o.campaigns_per_day); at < trace.seconds;
       at += random.Exponential(kDay / o.campaigns_per_day)) {
    AddCampaign(o, at, random, trace);
  }
  std::sort(trace.jobs.begin(), trace.jobs.end(),
            [](const ShiftJob& a, const ShiftJob& b) { return a.begins < b.begins; });
  return trace;
}

namespace {

class Flash {
 public:
  Flash(const ShiftTrace& trace, const FlashOptions& options, FlashPolicy policy, uint64_t seed)
      : trace_(trace),
        o_(options),
        policy_(policy),
        random_(seed),
        future_(trace.segments, 0),
        history_(trace.segments),
        place_(trace.segments, kNone),
        used_at_(trace.segments, 0) {
    if (policy == FlashPolicy::kHistoryOnly) {
      rule_.history_weight = 1;
      rule_.future_weight = 0;
    }
  }

  FlashResult Run() {
    // (time, kind, job, place in its list): 0 the scheduler tells of it, 1 it reads.
    using Event = std::tuple<double, int, size_t, size_t>;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    for (size_t j = 0; j < trace_.jobs.size(); ++j) {
      events.push({trace_.jobs[j].known_at, 0, j, 0});
      events.push({trace_.jobs[j].begins, 1, j, 0});
    }
    while (!events.empty()) {
      const auto [at, kind, j, i] = events.top();
      events.pop();
      if (at > trace_.seconds) break;
      Tick(at);
      const ShiftJob& job = trace_.jobs[j];
      if (kind == 0) {
        for (uint32_t segment : job.segments) ++future_[segment];
        continue;
      }
      --future_[job.segments[i]];
      Read(job.segments[i], at);
      if (i + 1 < job.segments.size()) events.push({at + trace_.seconds_per_segment, 1, j, i + 1});
    }
    result_.written_over_budget = result_.written / (o_.writes_per_second * trace_.seconds);
    result_.theta = admission_.theta;
    return result_;
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  void Tick(double at) {
    const AdmissionConstants constants;
    for (; ticked_ + constants.period_seconds <= at; ticked_ += constants.period_seconds) {
      const double budget = o_.writes_per_second * constants.period_seconds;
      // Flash is bought by what it takes a day, so what is left of a day may be written later.
      tokens_ = std::min(tokens_ + budget, kDay * o_.writes_per_second);
      admission_ =
          DecideAdmission(constants, {written_in_period_, offered_in_period_, budget}, admission_)
              .state;
      written_in_period_ = offered_in_period_ = 0;
    }
  }

  double Priority(uint32_t segment, double at) const {
    return SegmentPriority(rule_,
                           {1, DecayedBytes(rule_, history_[segment], at), 1.0 * future_[segment]});
  }

  void Read(uint32_t segment, double at) {
    ++result_.reads;
    const bool hit = place_[segment] != kNone;
    if (hit) ++result_.absorbed;
    AddRead(rule_, 1, at, history_[segment]);
    if (hit) {
      Use(segment);
    } else if (Lru()) {
      if (policy_ == FlashPolicy::kLruUnlimited || tokens_ >= 1) Write(segment, OldestPlace());
    } else {
      Consider(segment, at);
    }
  }

  bool Lru() const { return policy_ == FlashPolicy::kLru || policy_ == FlashPolicy::kLruUnlimited; }
  bool Full() const { return static_cast<double>(cached_.size()) >= o_.capacity; }

  void Consider(uint32_t segment, double at) {
    const double priority = Priority(segment, at);
    ++offered_in_period_;
    if (priority < admission_.theta || tokens_ < 1) return;
    size_t lowest_place = kNone;
    double lowest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; Full() && i < kSample; ++i) {
      const size_t place = random_.Below(cached_.size());
      const double theirs = Priority(cached_[place], at);
      if (theirs < lowest) {
        lowest = theirs;
        lowest_place = place;
      }
    }
    if (Full() && lowest >= priority) return;
    Write(segment, lowest_place);
  }

  void Use(uint32_t segment) {
    if (!Lru()) return;
    by_use_.erase(used_at_[segment]);
    used_at_[segment] = ++uses_;
    by_use_[uses_] = segment;
  }

  size_t OldestPlace() const { return Full() ? place_[by_use_.begin()->second] : kNone; }

  void Write(uint32_t segment, size_t victim_place) {
    if (Full()) {
      const uint32_t victim = cached_[victim_place];
      cached_[victim_place] = cached_.back();
      place_[cached_[victim_place]] = static_cast<uint32_t>(victim_place);
      cached_.pop_back();
      place_[victim] = kNone;
      if (Lru()) by_use_.erase(used_at_[victim]);
    }
    place_[segment] = static_cast<uint32_t>(cached_.size());
    cached_.push_back(segment);
    if (Lru()) {
      used_at_[segment] = ++uses_;
      by_use_[uses_] = segment;
    }
    tokens_ -= 1;
    ++written_in_period_;
    ++result_.written;
  }

  const ShiftTrace& trace_;
  const FlashOptions o_;
  const FlashPolicy policy_;
  SeededRandom random_;
  PriorityRule rule_;
  AdmissionState admission_;
  double ticked_ = 0, tokens_ = 0, written_in_period_ = 0, offered_in_period_ = 0;
  std::vector<int> future_;
  std::vector<ReadHistory> history_;
  std::vector<uint32_t> cached_;
  std::vector<uint32_t> place_;
  std::vector<uint64_t> used_at_;
  std::map<uint64_t, uint32_t> by_use_;
  uint64_t uses_ = 0;
  FlashResult result_;
};

}  // namespace

FlashResult RunFlash(const ShiftTrace& trace, const FlashOptions& options, FlashPolicy policy,
                     uint64_t seed) {
  return Flash(trace, options, policy, seed).Run();
}

}  // namespace headrace::orchestrate
