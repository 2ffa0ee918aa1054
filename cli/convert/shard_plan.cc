#include "cli/convert/shard_plan.h"

#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/random.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 6> kEndings = {".tfrecord.gz", ".tfrecord", ".tar.gz",
                                                      ".tgz",         ".tar.zst",  ".tar"};

}  // namespace

absl::StatusOr<std::vector<std::string>> ShardPaths(const std::string& destination, size_t shards) {
  for (std::string_view ending : kEndings) {
    if (!destination.ends_with(ending)) continue;
    if (shards == 1) return std::vector<std::string>{destination};
    const std::string stem = destination.substr(0, destination.size() - ending.size());
    std::vector<std::string> paths;
    for (size_t i = 0; i < shards; ++i)
      paths.push_back(fmt::format("{}-{:05}-of-{:05}{}", stem, i, shards, ending));
    return paths;
  }
  return InvalidArgument(
      "{}: the ending tells what to write: .tfrecord, .tfrecord.gz, .tar, .tar.gz, .tgz or "
      ".tar.zst",
      destination);
}

std::vector<std::vector<size_t>> DealSplits(size_t splits, size_t shards, bool shuffle,
                                            uint64_t seed) {
  std::vector<size_t> order(splits);
  std::iota(order.begin(), order.end(), size_t{0});
  RandomStream random({seed, 0, 0}, splits, shards);
  for (size_t i = splits; shuffle && i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  std::vector<std::vector<size_t>> dealt(shards);
  for (size_t i = 0; i < splits; ++i) {
    // Without a seed, neighbours stay together: shard k has the k-th part of the source.
    dealt[shuffle ? i % shards : i * shards / splits].push_back(order[i]);
  }
  return dealt;
}

}  // namespace headrace
