#include "orchestrator/capacity/controller.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "orchestrator/statistics.h"

namespace headrace::orchestrate {
namespace {

constexpr size_t kKept = 64;  // samples of each series

void Keep(std::vector<double>& series, double sample) {
  if (series.size() >= kKept) series.erase(series.begin());
  series.push_back(sample);
}

double Share(double bytes, double dataset_bytes) { return 100 * bytes / dataset_bytes; }

// The smallest share of the dataset whose hit ratio reaches `hit_ratio`.
double ShareFor(double hit_ratio, const std::vector<HitCurvePoint>& curve) {
  if (hit_ratio <= 0) return 0;
  if (curve.empty()) return std::min(1.0, hit_ratio);
  HitCurvePoint before;
  for (const HitCurvePoint& point : curve) {
    if (point.hit_ratio >= hit_ratio) {
      const double rise = point.hit_ratio - before.hit_ratio;
      const double part = rise <= 0 ? 1 : (hit_ratio - before.hit_ratio) / rise;
      return before.share + part * (point.share - before.share);
    }
    before = point;
  }
  return 1;
}

// Relative noise of a series that drifts slowly: from differences of neighbours, by their median.
double NoiseOf(const std::vector<double>& series) {
  std::vector<double> steps;
  for (size_t i = 1; i < series.size(); ++i) {
    if (series[i] > 0 && series[i - 1] > 0) {
      steps.push_back(std::abs(std::log(series[i] / series[i - 1])));
    }
  }
  // Of a normal difference the median of |.| is .6745 sqrt(2) sigma.
  return Median(std::move(steps)) / 0.9539;
}

class Controller {
 public:
  Controller(const CapacityConstants& constants, const CapacityObservation& seen,
             CapacityState state)
      : k_(constants), o_(seen), s_(std::move(state)) {}

  CapacityDecision Decide() {
    const double before = s_.capacity;
    const double d = o_.dataset_bytes;
    reason_ = d > 0 ? Step() : End("the dataset is empty");
    s_.capacity = std::clamp(s_.capacity, 0.0, std::max(0.0, d));
    CapacityDecision decision;
    decision.capacity_bytes = s_.capacity;
    decision.phase = s_.phase;
    decision.changed = s_.capacity != before;
    decision.reason = std::move(reason_);
    decision.state = std::move(s_);
    return decision;
  }

 private:
  double minimum() const { return k_.minimum * o_.dataset_bytes; }
  // Noisy samples need more of them: sigma .10 twice as many as .05.
  size_t Longer(size_t count) const {
    const double sigma = NoiseOf(s_.full_speed);
    const double times = std::clamp(sigma / 0.05, 1.0, 4.0);
    return static_cast<size_t>(std::lround(static_cast<double>(count) * times));
  }
  size_t samples() const { return Longer(k_.samples); }
  size_t window() const { return Longer(k_.window); }
  bool Filled() const { return o_.resident_bytes >= k_.fresh_share * s_.capacity; }
  bool Fresh() const { return o_.resident_at_epoch_start >= k_.fresh_share * s_.capacity; }

  void Forget() {
    s_.stalls.clear();
    s_.speeds.clear();
  }
  void Take() {
    Keep(s_.stalls, o_.stall);
    Keep(s_.speeds, o_.bytes_per_second);
  }
  void ForgetTest() {
    s_.test_speeds.clear();
    s_.test_hits.clear();
    s_.test_stalls.clear();
  }
  void Hold() {
    s_.phase = CapacityPhase::kHold;
    s_.held = 0;
    Forget();
  }
  double Limit() const {
    return std::min(o_.dataset_bytes, s_.trial_limit.value_or(o_.dataset_bytes));
  }

  std::string End(std::string_view why) {
    s_ = CapacityState();
    s_.phase = CapacityPhase::kEnd;
    return fmt::format("everything is given back: {}", why);
  }

  std::string Step() {
    if (o_.ended) return End("the job has ended");
    if (s_.phase == CapacityPhase::kEnd) s_ = CapacityState();
    if (s_.periods == 0) {
      s_.capacity = minimum();
      s_.hold_periods = k_.hold_periods;
      s_.next_back_off = k_.back_off_periods;
    }
    ++s_.periods;
    Keep(s_.full_speed, o_.bytes_per_second / std::max(0.02, 1 - o_.stall));
    if (o_.stall > k_.stall_high) Keep(s_.miss_speed, o_.missed_bytes_per_second);
    LearnBase();
    if (o_.disturbed || o_.storage_full) Rebase();
    if (o_.budget_shrank && s_.capacity > minimum()) return Shrink();
    if (s_.phase == CapacityPhase::kBackOff) return BackOff();
    if (std::string futile = TestGain(); !futile.empty()) return futile;
    const bool growing =
        s_.phase == CapacityPhase::kSlowStart || s_.phase == CapacityPhase::kAdditive;
    if (growing && o_.granted_bytes + 1 < s_.capacity) {
      Forget();
      return fmt::format("wants {:.0f}% of the dataset and is granted {:.0f}%: no growth",
                         Share(s_.capacity, o_.dataset_bytes),
                         Share(o_.granted_bytes, o_.dataset_bytes));
    }
    switch (s_.phase) {
      case CapacityPhase::kSlowStart:
        return SlowStart();
      case CapacityPhase::kAdditive:
        return Additive();
      case CapacityPhase::kHold:
        return HoldOn();
      default:
        return Probe();
    }
  }

  std::string Shrink() {
    s_.phase = CapacityPhase::kSlowStart;
    s_.capacity = minimum();
    s_.before_probe.reset();
    s_.base = s_.base_at_minimum;
    Forget();
    ForgetTest();
    return fmt::format("the budget shrank: down to {:.1f}% of the dataset and up again from there",
                       100 * k_.minimum);
  }

  // The first three samples are what later gains are counted from.
  void LearnBase() {
    if (s_.base_at_minimum.has_value()) return;
    s_.test_speeds.push_back(o_.bytes_per_second);
    s_.test_hits.push_back(o_.hit_ratio);
    if (s_.test_speeds.size() < 3) return;
    s_.base_at_minimum = {Median(s_.test_speeds), Median(s_.test_hits), minimum()};
    s_.base = s_.base_at_minimum;
    ForgetTest();
  }

  // What is below this tier is faster or slower now: gains against what was before say nothing.
  void Rebase() {
    ForgetTest();
    if (!s_.base_at_minimum.has_value()) return;
    s_.base.reset();
  }

  std::string BackOff() {
    Take();
    if (--s_.held > 0) {
      return fmt::format("rests at the minimum for {} more periods, since more did not help",
                         s_.held);
    }
    // Measured at rest, by more samples than the first three.
    s_.base_at_minimum->speed = MedianOfLast(s_.speeds, 16);
    s_.base = s_.base_at_minimum;
    // As far as a prediction a little above the least that a test needs.
    const double share = 1 - 1 / (k_.futility_predicted + 0.1);
    s_.trial_limit = std::min(o_.dataset_bytes, minimum() + share * o_.dataset_bytes);
    s_.phase = CapacityPhase::kSlowStart;
    Forget();
    ForgetTest();
    return fmt::format("tries again, up to {:.0f}% of the dataset",
                       Share(*s_.trial_limit, o_.dataset_bytes));
  }

  // Did what was added since `base` bring what it should? The sentence if not; empty otherwise.
  std::string TestGain() {
    const bool steady = s_.phase == CapacityPhase::kSlowStart ||
                        s_.phase == CapacityPhase::kAdditive || s_.phase == CapacityPhase::kHold;
    if (!steady || !s_.base_at_minimum.has_value() || !Fresh()) return {};
    Keep(s_.test_speeds, o_.bytes_per_second);
    Keep(s_.test_hits, o_.hit_ratio);
    Keep(s_.test_stalls, o_.stall);
    const size_t needed = s_.trial_limit.has_value() ? 2 * window() : window();
    if (s_.test_speeds.size() < needed) return {};
    const double speed = Median(s_.test_speeds), hit = Median(s_.test_hits);
    const double stall = Median(s_.test_stalls);
    ForgetTest();
    if (!s_.base.has_value()) {
      s_.base = CapacityState::Futility{speed, hit, s_.capacity};
      return {};
    }
    const double full = MedianOfLast(s_.full_speed, 2 * k_.window);
    const double predicted = std::min((1 - s_.base->hit_ratio) / std::max(1e-3, 1 - hit),
                                      full / std::max(1e-9, s_.base->speed));
    if (predicted < k_.futility_predicted) return {};
    const double gain = speed / std::max(1e-9, s_.base->speed);
    if (gain - 1 < k_.futility_seen * (predicted - 1) && stall > k_.stall_high) {
      const double tried = s_.capacity;
      s_.phase = CapacityPhase::kBackOff;
      s_.capacity = minimum();
      s_.held = s_.next_back_off;
      s_.next_back_off = std::min(k_.back_off_periods_most, 2 * s_.next_back_off);
      Forget();
      return fmt::format(
          "{:.0f}% of the dataset should have made it {:.2f} times as fast and made it {:.2f} "
          "times: "
          "back to the minimum for {} periods",
          Share(tried, o_.dataset_bytes), predicted, gain, s_.held);
    }
    s_.base = CapacityState::Futility{speed, hit, s_.capacity};
    s_.trial_limit.reset();
    return {};
  }

  std::string SlowStart() {
    if (!Filled()) {
      return fmt::format("fills {:.1f}% of the dataset", Share(s_.capacity, o_.dataset_bytes));
    }
    const auto estimate = EstimateCapacity(s_, o_.dataset_bytes, o_.hit_curve);
    if (!estimate.has_value()) return "waits for three samples";
    const double threshold = std::min(k_.slow_start_share * estimate->knee, Limit());
    if (s_.capacity >= threshold) {
      s_.phase = CapacityPhase::kAdditive;
      Forget();
      return fmt::format(
          "{:.0f}% of the dataset reaches {:.2f} of the knee, which is estimated at {:.0f}%",
          Share(s_.capacity, o_.dataset_bytes), k_.slow_start_share,
          Share(estimate->knee, o_.dataset_bytes));
    }
    s_.capacity = std::min(2 * s_.capacity, threshold);
    return fmt::format("full: doubled to {:.1f}% of the dataset, the knee is estimated at {:.0f}%",
                       Share(s_.capacity, o_.dataset_bytes),
                       Share(estimate->knee, o_.dataset_bytes));
  }

  std::string Additive() {
    if (!Fresh()) return Unfresh();
    Take();
    if (s_.stalls.size() < samples()) return "gathers fresh samples";
    const double stall = Median(s_.stalls);
    if (stall <= k_.stall_high) {
      Hold();
      return fmt::format("the trainer waits {:.1f}% of the time: enough", 100 * stall);
    }
    if (s_.capacity >= Limit()) {
      Hold();
      return fmt::format("the trainer waits {:.1f}% of the time, and there is no more to cache",
                         100 * stall);
    }
    s_.capacity = std::min(Limit(), s_.capacity + k_.additive_step * o_.dataset_bytes);
    Forget();
    return fmt::format("the trainer waits {:.1f}% of the time: up to {:.0f}% of the dataset",
                       100 * stall, Share(s_.capacity, o_.dataset_bytes));
  }

  std::string Unfresh() {
    Forget();
    return fmt::format("{:.0f}% of the dataset was cached when the epoch began: waits for the next",
                       Share(o_.resident_at_epoch_start, o_.dataset_bytes));
  }

  std::string HoldOn() {
    if (!Fresh()) return Unfresh();
    Take();
    ++s_.held;
    if (s_.stalls.size() >= samples() && s_.capacity < Limit()) {
      const double stall = MedianOfLast(s_.stalls, samples());
      if (stall > k_.stall_high) {
        s_.phase = CapacityPhase::kAdditive;
        Forget();
        return fmt::format("the trainer waits {:.1f}% of the time again", 100 * stall);
      }
    }
    const double stall = MedianOfLast(s_.stalls, window());
    if (s_.held < s_.hold_periods || s_.stalls.size() < window() || s_.capacity <= minimum() ||
        stall > k_.stall_high) {
      return fmt::format("holds {:.0f}% of the dataset", Share(s_.capacity, o_.dataset_bytes));
    }
    s_.before_probe = {s_.capacity, MedianOfLast(s_.speeds, 2 * window()),
                       MedianOfLast(s_.stalls, 2 * window())};
    const double depth =
        std::max(k_.probe_of_capacity * s_.capacity, k_.probe_of_dataset * o_.dataset_bytes);
    s_.capacity = std::max(minimum(), s_.capacity - depth);
    s_.phase = CapacityPhase::kProbe;
    Forget();
    return fmt::format("quiet for {} periods: probes {:.1f}% of the dataset", s_.held,
                       Share(s_.capacity, o_.dataset_bytes));
  }

  std::string Probe() {
    Take();
    if (s_.stalls.size() < window()) return "measures the probe";
    const double stall = Median(s_.stalls), speed = Median(s_.speeds);
    const bool kept =
        stall <= k_.stall_low ||
        (stall <= k_.stall_high && speed >= (1 - k_.probe_loss) * s_.before_probe->speed);
    const double tried = s_.capacity;
    if (kept) {
      s_.hold_periods = k_.hold_periods;
    } else {
      s_.capacity = s_.before_probe->capacity;
      s_.hold_periods = std::min(k_.hold_periods_most, 2 * s_.hold_periods);
    }
    const double ratio = speed / std::max(1e-9, s_.before_probe->speed);
    s_.before_probe.reset();
    Hold();
    return fmt::format("{:.1f}% of the dataset gave {:.2f} of the speed and {:.1f}% waiting: {}",
                       Share(tried, o_.dataset_bytes), ratio, 100 * stall,
                       kept ? "kept" : "taken back");
  }

  const CapacityConstants& k_;
  const CapacityObservation& o_;
  CapacityState s_;
  std::string reason_;
};

}  // namespace

std::string_view Name(CapacityPhase phase) {
  switch (phase) {
    case CapacityPhase::kSlowStart:
      return "slow_start";
    case CapacityPhase::kAdditive:
      return "additive";
    case CapacityPhase::kHold:
      return "hold";
    case CapacityPhase::kProbe:
      return "probe";
    case CapacityPhase::kBackOff:
      return "back_off";
    case CapacityPhase::kEnd:
      return "end";
  }
  return "?";
}

std::optional<CapacityEstimate> EstimateCapacity(const CapacityState& state, double dataset_bytes,
                                                 const std::vector<HitCurvePoint>& hit_curve) {
  if (state.full_speed.size() < 3) return std::nullopt;
  CapacityEstimate estimate;
  estimate.full_speed = MedianOfLast(state.full_speed, 10);
  estimate.sigma = NoiseOf(state.full_speed);
  if (state.miss_speed.size() < 3) return estimate;  // hardly waits: no cache is needed
  estimate.miss_speed = MedianOfLast(state.miss_speed, 10);
  const double hit_ratio = 1 - estimate.miss_speed / std::max(1e-9, estimate.full_speed);
  estimate.knee = dataset_bytes * ShareFor(hit_ratio, hit_curve);
  return estimate;
}

double CapacityDensity(const CapacityState& state, double dataset_bytes) {
  if (state.full_speed.empty() || dataset_bytes <= 0) return 0;
  return MedianOfLast(state.full_speed, 10) / dataset_bytes;
}

double CapacityWant(const CapacityConstants& constants, const CapacityObservation& seen,
                    const CapacityState& state) {
  if (state.phase == CapacityPhase::kBackOff || state.phase == CapacityPhase::kEnd ||
      state.trial_limit.has_value()) {
    return state.capacity;
  }
  if (seen.storage_full) return seen.dataset_bytes;
  // What it has, and does not wait with, it keeps: to take it away would make it wait.
  double want = std::max(state.capacity, seen.resident_bytes);
  if (seen.stall > constants.stall_high) {
    const auto estimate = EstimateCapacity(state, seen.dataset_bytes, seen.hit_curve);
    if (estimate.has_value()) want = std::max(want, estimate->knee);
  }
  return std::min(want, seen.dataset_bytes);
}

CapacityDecision DecideCapacity(const CapacityConstants& constants, const CapacityObservation& seen,
                                CapacityState state) {
  return Controller(constants, seen, std::move(state)).Decide();
}

}  // namespace headrace::orchestrate
