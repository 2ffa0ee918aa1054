// Which splits of a source go into which shard, and what the shards are called. A pure function of
// its arguments, so an interrupted conversion goes on where it stopped: a shard that is there is
// whole (writers rename at the end).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace headrace {

// "tiles.tfrecord", 8 -> "tiles-00000-of-00008.tfrecord", ...; one shard keeps the name as it is.
// INVALID_ARGUMENT when the ending is none of .tfrecord, .tfrecord.gz, .tar, .tar.gz, .tgz,
// .tar.zst.
absl::StatusOr<std::vector<std::string>> ShardPaths(const std::string& destination, size_t shards);

// Deals splits 0..n-1 out to shards: in order without a seed, permuted by it with one.
std::vector<std::vector<size_t>> DealSplits(size_t splits, size_t shards, bool shuffle,
                                            uint64_t seed);

}  // namespace headrace
