// What placement knows of a pipeline: its steps as they were measured, which of their outputs may
// be cached, and which jobs read it. Plain data, made by whoever watches the job; no thread, no
// clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::orchestrate {

// One step, measured over the rows that it saw.
struct StepProfile {
  std::string name;
  double cpu_seconds = 0;   // of one row that enters it: the mean ...
  double cpu_variance = 0;  // ... and the variance of single rows
  double rows_measured = 0;
  double visits = 1;      // rows that enter it per row of the source
  double bytes_out = 0;   // per row of the source, of what leaves it
  bool random = false;    // another result each epoch
  bool stateful = false;  // its result depends on its neighbours: shuffle, batch, pack
  bool pinned = false;    // its author forbids caches from here on
  // A random step that begins with a deterministic part (decoding, before the draw decides what to
  // crop): that part's share of the CPU time, and the bytes between the two. SplitRandomSteps makes
  // two steps of it.
  std::optional<double> deterministic_share;
  double bytes_between = 0;
};

// One job that runs or waits, and its pipeline.
struct JobProfile {
  std::string job;
  double rows = 0;                // N, of the source, per epoch
  double source_bytes = 0;        // s_0 per row
  double source_cpu_seconds = 0;  // g: CPU to read a row of the source
  std::vector<StepProfile> steps;
  // H_0 .. H_n: of the source, and after each step. Equal keys of two jobs: the same bytes. Empty:
  // shared with nobody.
  std::vector<uint64_t> prefix_keys;
  double epochs_left = 1;    // E, the running one counted as its part
  bool queued = false;       // begins after a cache would be built
  double demand = 0;         // lambda: rows/s that its trainers take without waiting
  double demand_error = 0;   // relative standard error of it
  double trainer_price = 0;  // per second
  int variants = 0;          // V: results of the first random step to keep, by explicit opt-in
};

// A copy in which each random step with a deterministic part is two. Prefix keys follow: the part's
// key is made of the step's input key.
JobProfile SplitRandomSteps(const JobProfile& job);

// The cuts after which a cache is legal, ascending: 0 is the source, i the output of step i (from
// 1). None beyond the first step that is random, stateful or pinned.
std::vector<size_t> LegalCuts(const JobProfile& job);

// Bytes per row of the source at cut k.
double BytesAtCut(const JobProfile& job, size_t cut);

// Standard error of a step's mean, in CPU seconds a row.
double CpuError(const StepProfile& step);

struct EvidenceRule {
  double rows = 300;
  double cpu_share = 0.02;       // steps above this share of the CPU time ...
  double relative_error = 0.05;  // ... must be known better than that
  double seconds = 60;           // or as long as this
};
struct ProfileEvidence {
  bool enough = false;
  std::string reason;
};
ProfileEvidence EnoughEvidence(const JobProfile& job, double measured_seconds,
                               const EvidenceRule& rule = {});

}  // namespace headrace::orchestrate
