// How big the cache of one job in one tier should be: grows it by doubling, then in steps, while
// the trainer waits for data, probes downwards in quiet times, and gives up where the cache does
// not help. The congestion signal is *fetch stall*. A gain small enough to stop at would stop at
// once: with a uniform cache the speed is b / (1 - c/d), which is convex below the knee
// (docs/design/034-capacity.md).
//
// A pure function from (what was seen, state) to (decision, state): no clock, no I/O, no threads.
// The control loop calls it once a period per job and tier and keeps the state. Losing the state
// costs a new slow start, nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::orchestrate {

struct CapacityConstants {
  double minimum = 1.0 / 64;        // c0, where it starts and falls back to; share of the dataset
  double slow_start_share = 0.85;   // of the estimated knee: where doubling ends
  double additive_step = 1.0 / 32;  // share of the dataset
  double stall_high = 0.05;         // above: too small
  double stall_low = 0.02;          // at or below: a probe downwards may stay
  size_t samples = 3;               // K: fresh samples for one decision
  size_t window = 5;                // samples of a probe; both grow where sigma > .05
  double probe_of_capacity = 1.0 / 16;  // a probe takes away this share of the capacity ...
  double probe_of_dataset = 1.0 / 64;   // ... or of the dataset, whichever is more
  double probe_loss = 0.03;  // speed that a probe may cost where stall is between the two
  int hold_periods = 8;      // H, before the first probe; doubled by each that fails
  int hold_periods_most = 64;
  double futility_predicted = 1.15;  // a test needs a prediction of at least this gain ...
  double futility_seen = 0.25;       // ... and fails when less than this share of it was seen
  int back_off_periods = 16;         // at the minimum after a failed test; doubled by each
  int back_off_periods_most = 256;
  double fresh_share = 0.95;  // of the capacity that was there when the epoch began: a fresh sample
};

// A point of a measured hit curve: `hit_ratio` of reads with `share` of the dataset cached.
struct HitCurvePoint {
  double share = 0;
  double hit_ratio = 0;
};

// One period of one job. Bytes are bytes of what is cached.
struct CapacityObservation {
  double dataset_bytes = 0;            // d > 0
  double bytes_per_second = 0;         // x: what the trainer got
  double stall = 0;                    // share of its time that the trainer waited, in [0, 1]
  double missed_bytes_per_second = 0;  // read from below this tier
  double hit_ratio = 0;                // of the bytes read
  double resident_bytes = 0;           // cached now
  double resident_at_epoch_start = 0;  // of them, those that were there when the epoch began
  double granted_bytes = 0;            // what the allocator lets it have; < capacity: no growth
  bool budget_shrank = false;          // since the last period, and it no longer fits
  // Others that read from the same storage came or went: gains are counted anew from here.
  bool disturbed = false;
  // Jobs that share the storage below use all that it gives: what one does not read another will.
  bool storage_full = false;
  bool ended = false;                    // the job has ended or its lease has run out
  std::vector<HitCurvePoint> hit_curve;  // ascending; empty: uniform, hit ratio = share
};

enum class CapacityPhase { kSlowStart, kAdditive, kHold, kProbe, kBackOff, kEnd };
std::string_view Name(CapacityPhase phase);

struct CapacityState {
  CapacityPhase phase = CapacityPhase::kSlowStart;
  double capacity = 0;  // bytes wanted; 0: not started
  int64_t periods = 0;
  std::vector<double> full_speed;  // newest last: bytes/s if it never waited
  std::vector<double> miss_speed;  // bytes/s from below while it waited
  std::vector<double> stalls;      // fresh samples of the decision under way
  std::vector<double> speeds;
  int held = 0;  // periods in HOLD, or left in BACK OFF
  int hold_periods = 0;
  struct BeforeProbe {
    double capacity = 0, speed = 0, stall = 0;
  };
  std::optional<BeforeProbe> before_probe;
  struct Futility {  // what a gain is counted from
    double speed = 0, hit_ratio = 0, capacity = 0;
  };
  std::optional<Futility> base, base_at_minimum;
  std::vector<double> test_speeds, test_hits, test_stalls;
  int next_back_off = 0;
  std::optional<double> trial_limit;  // after a back-off: as far as the test needs, no further
};

struct CapacityDecision {
  double capacity_bytes = 0;
  CapacityPhase phase = CapacityPhase::kSlowStart;
  bool changed = false;
  std::string reason;  // a sentence with its numbers
  CapacityState state;
};

// What the samples so far say. Nothing before three samples.
struct CapacityEstimate {
  double full_speed = 0;  // f: bytes/s without waiting
  double miss_speed = 0;  // b: bytes/s from below; 0: it has not waited yet
  double knee = 0;        // the smallest capacity at which it would not wait
  double sigma = 0;       // relative noise of a sample
};
std::optional<CapacityEstimate> EstimateCapacity(const CapacityState& state, double dataset_bytes,
                                                 const std::vector<HitCurvePoint>& hit_curve = {});

// Density of a byte in this cache: full speed per byte of dataset, summed over sharers by the
// caller.
double CapacityDensity(const CapacityState& state, double dataset_bytes);

// What to ask of a budget that others want too. Alone, a job climbs by its controller; where it
// competes, climbing in steps while others take the rest costs more than asking for the estimated
// knee at once. Where the storage is full, bytes beyond the own knee are worth as much, by what
// they leave to others: it asks for the whole dataset, and density decides. A cache that rests
// because it does not help asks for its minimum.
double CapacityWant(const CapacityConstants& constants, const CapacityObservation& seen,
                    const CapacityState& state);

CapacityDecision DecideCapacity(const CapacityConstants& constants, const CapacityObservation& seen,
                                CapacityState state);

}  // namespace headrace::orchestrate
