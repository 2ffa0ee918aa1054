// What a run says at its end: how fast, how long the trainer waited, where the time went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/v1/dispatcher.pb.h"

namespace headrace {

struct EpochReport {
  uint64_t epoch = 0;
  uint64_t elements = 0;  // batches, or single elements of an unbatched stream
  uint64_t records = 0;   // in them
  uint64_t bytes = 0;
  double seconds = 0;
  double wait_seconds = 0;  // the trainer asked and had nothing
  uint64_t settled = 0;
  uint64_t failed = 0;
  std::vector<v1::FailureSample> failures;
};

struct RunReport {
  std::string pipeline;
  std::string job;
  uint64_t workers = 0;
  std::vector<EpochReport> epochs;
  std::vector<v1::StepStats> steps;  // over all workers and epochs, as last seen
};

// For people.
std::string RunText(const RunReport& report);
// One line.
std::string RunJson(const RunReport& report);

}  // namespace headrace
