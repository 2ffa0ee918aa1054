// What a job reads, as it was when the job opened. Immutable, shared by the job's epochs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/v1/journal.pb.h"
#include "pipeline/splits/split_list.h"

namespace headrace::dispatch {

struct JobData {
  SplitList splits;
  uint64_t files = 0;  // highest file_index + 1
  uint64_t passes = 1;
  bool single_task = false;
  bool shard_hint = false;
  std::string version;
  v1::SchemaDef source_schema;
  v1::SchemaDef schema;
  bool batched = false;
  // Of a job whose ordering is deterministic.
  std::optional<v1::OrderedPlan> ordered;
  uint32_t ordered_lanes = 0;
  uint64_t ordered_window_bytes = 0;
};

}  // namespace headrace::dispatch
