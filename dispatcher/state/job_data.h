// What a job reads, as it was when the job opened. Immutable, shared by the job's epochs.
#pragma once

#include <cstdint>
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
};

}  // namespace headrace::dispatch
