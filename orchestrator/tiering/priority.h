// Which segments are worth a place in a tier, and which are written there at all: a priority from
// what was read and what will be, and a threshold that keeps writes within the flash's budget. The
// lowest goes first, to the tier below before it is deleted. Pure functions (after Tectonic-Shift,
// ATC '23).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::orchestrate {

struct PriorityRule {
  // Of what was read, the last hours tell of jobs that nobody announced; of what is known, more is
  // lost by looking back (docs/simulation.md: .3 and .7 with 24 hours absorb less).
  double history_weight = 0.1;
  double future_weight = 0.9;
  double half_life_seconds = 2 * 3600;
  double horizon_seconds = 6 * 3600;  // how far ahead running and queued jobs are looked at
  // Reads of the whole segment, in the past's decayed sum or the future's horizon, that count half
  // of what any number of them can.
  double half_at_reads = 3;
};

// What was read of a segment: bytes, decayed to `at_seconds`.
struct ReadHistory {
  double decayed_bytes = 0;
  double at_seconds = 0;
};
void AddRead(const PriorityRule& rule, double bytes, double now_seconds, ReadHistory& history);
double DecayedBytes(const PriorityRule& rule, const ReadHistory& history, double now_seconds);

struct SegmentOutlook {
  double bytes = 0;          // of the segment
  double history_bytes = 0;  // DecayedBytes
  double future_bytes = 0;   // that running and queued jobs will still read within the horizon
};
// In [0, 1]: weights of history and future times, each, r / (r + half) of whole-segment reads r.
double SegmentPriority(const PriorityRule& rule, const SegmentOutlook& outlook);

// Holds the bytes written to a tier at its budget by moving the admission threshold:
// theta += .1 e + .01 sum(e), e = (written - budget) / budget, clamped to [0, 1]. Whoever writes
// also counts bytes against the budget: a threshold alone cannot hold it where many segments have
// one priority.
struct AdmissionConstants {
  double proportional = 0.1;
  double integral = 0.01;
  double period_seconds = 60;
  // Of the error and its sum: an idle night must not open the gate for the whole morning.
  double most_error = 1;
  double most_sum = 50;
  // Where the budget is less than this share of what is offered, steps are smaller in proportion:
  // otherwise the loop's gain is above 2 and theta swings from stop to stop.
  double full_gain_share = 0.1;
};
struct AdmissionState {
  double theta = 0.5;
  double error_sum = 0;
};
struct AdmissionDecision {
  double theta = 0;
  std::string reason;
  AdmissionState state;
};
struct AdmissionWindow {
  double written_bytes = 0;
  double offered_bytes = 0;  // missed, and so could have been written
  double budget_bytes = 0;
};
AdmissionDecision DecideAdmission(const AdmissionConstants& constants,
                                  const AdmissionWindow& window, AdmissionState state);

// Where what a tier gives up goes. Tiers from the fastest; the last one's victims are deleted.
struct TierRoom {
  std::string name;
  double free_bytes = 0;
  double lowest_priority = 0;  // of what it holds; it makes room for what is above
  double theta = 0;            // its admission threshold; 0 where writes cost nothing
};
struct DemotionDecision {
  std::optional<size_t> tier;  // nullopt: delete; it costs speed, never data
  std::string reason;
};
DemotionDecision DecideDemotion(std::span<const TierRoom> tiers, size_t from, double bytes,
                                double priority);

}  // namespace headrace::orchestrate
