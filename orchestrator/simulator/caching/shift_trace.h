// A trace like those that flash in front of a warehouse's storage sees (Tectonic-Shift, ATC '23):
// training jobs read partitions of popular tables, each a subset of the columns, once; bursts of
// jobs read the same again within hours. And a flash tier that is tried on it. One seed, one trace;
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orchestrator/tiering/priority.h"

namespace headrace::orchestrate {

struct ShiftTraceOptions {
  size_t days = 7;
  size_t tables = 24;
  double table_skew = 0.9;   // Zipf
  size_t column_groups = 8;  // segments of a partition
  size_t segments_per_group = 4;
  double campaigns_per_day = 18;    // bursts: one table, one range of partitions
  double jobs_per_campaign = 5;     // 1 + exponential
  double campaign_hours = 8;        // over which its jobs begin
  double queued_share = 0.6;        // of the jobs, known to the scheduler before they begin ...
  double queued_hours = 2;          // ... for so long
  double seconds_per_segment = 12;  // of one job
};

struct ShiftJob {
  double known_at = 0;  // seconds
  double begins = 0;
  std::vector<uint32_t> segments;  // in reading order
};
struct ShiftTrace {
  std::vector<ShiftJob> jobs;  // by begins
  size_t segments = 0;
  double seconds = 0;
  double seconds_per_segment = 0;
};
ShiftTrace MakeShiftTrace(const ShiftTraceOptions& options, uint64_t seed);

enum class FlashPolicy {
  kLru,           // admits what its write budget has room for, evicts what was read longest ago
  kLruUnlimited,  // writes all it misses: what the budget costs
  kHistoryOnly,   // ours without knowing the future
  kHeadrace,
};
struct FlashOptions {
  double capacity = 4000;           // segments
  double writes_per_second = 0.01;  // segments, on average
};
struct FlashResult {
  double reads = 0, absorbed = 0, written = 0;
  double written_over_budget = 0;  // ratio
  double theta = 0;                // at the end
};
FlashResult RunFlash(const ShiftTrace& trace, const FlashOptions& options, FlashPolicy policy,
                     uint64_t seed);

}  // namespace headrace::orchestrate
