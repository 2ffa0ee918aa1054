// Writes the records of some splits into one shard.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/formats/dataset/dataset.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

struct ShardOptions {
  bool shuffle = false;  // records within the shard, by `seed`
  uint64_t seed = 0;
  // Records that are shuffled together; a larger shard is shuffled in parts.
  uint64_t shuffle_bytes = 1ull << 30;
};

struct ShardResult {
  uint64_t records = 0;
  uint64_t bytes = 0;
  std::vector<std::string> damaged;  // messages of records that were left out
};

// TFRecord: a tf.train.Example with every field of a record, or the record itself where it is one
// field of bytes that is called "record". tar: a member per field; for images the key is the path
// below the source's common folder, `image` gets the image's own ending and `label` becomes `cls`.
// `progress` is called with the records written so far; false stops with CANCELLED. On an error no
// file is left.
absl::StatusOr<ShardResult> WriteShard(const Dataset& dataset, const std::vector<size_t>& splits,
                                       FileSystem& files, const std::string& path,
                                       const ShardOptions& options,
                                       const std::function<bool(uint64_t)>& progress);

}  // namespace headrace
