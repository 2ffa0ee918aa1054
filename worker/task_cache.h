// Joins a task's engine with the worker's caches: which key a split has, when its kept rows may be
// used, and how they are kept.
//
// A key stands for the rows of one split at the pipeline's `cache` step: the steps in front of it
// (with files that they read), where the records lie, and which version of the file they are of. A
// file that is not what the split says is neither looked up nor kept: with a cache a changed file
// is refused as without one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/tiered_cache.h"
#include "common/clock.h"
#include "element/schema.h"
#include "pipeline/engine/prefix_cache.h"
#include "pipeline/graph/graph.h"
#include "pipeline/sources/file_system.h"
#include "worker/held_splits.h"

namespace headrace {

// Shared by a task and its reads; thread-safe.
class TaskCache final : public PrefixCache {
 public:
  // A file that was written so lately may be written again without its time telling; its rows are
  // not kept yet.
  static constexpr absl::Duration kQuiet = absl::Seconds(2);

  struct Deps {
    TieredCache& cache;  // these three outlive it
    HeldSplits& held;
    const Clock& clock;
    std::shared_ptr<FileSystem> files;
    double share = 1;  // of the splits, to be kept: the same ones for every task
  };
  // Null: the graph has no `cache` step, or a file that a step in front of it reads is not there.
  // `epoch`: the task's; `dataset_version`: of the list that its splits are numbered in.
  static std::shared_ptr<TaskCache> Make(Deps deps, const Graph& graph, uint64_t epoch,
                                         std::string_view dataset_version);

  std::unique_ptr<CachedRows> Open(const v1::Split& split, uint32_t pass) override;
  std::shared_ptr<PrefixFill> Fill(const v1::Split& split, uint32_t pass) override;

  CacheKey KeyOf(const v1::Split& split, uint32_t pass) const;
  // The splits of the dataset that the caches have, as far as this process has come across them:
  // ascending, each as its distance from the one before.
  std::vector<uint32_t> Held() const { return held_.Tell(group_, prefix_, tier_); }

 private:
  explicit TaskCache(Deps deps)
      : cache_(deps.cache),
        held_(deps.held),
        clock_(deps.clock),
        files_(std::move(deps.files)),
        share_(deps.share) {}
  absl::Status Describe(const Graph& graph, uint64_t epoch);
  // Calls `take` with every file of the split, as the split says that it was.
  static absl::Status ForEachFile(const v1::Split& split,
                                  absl::FunctionRef<absl::Status(const FileInfo&)> take);
  // All files are still what they were.
  absl::Status CheckUnchanged(const v1::Split& split) const;
  bool Quiet(const v1::Split& split) const;
  // Of the splits that are to be kept.
  bool InShare(const CacheKey& key) const;

  TieredCache& cache_;
  HeldSplits& held_;
  const Clock& clock_;
  const std::shared_ptr<FileSystem> files_;
  const double share_;
  std::string prefix_;
  std::string group_;  // of splits that are numbered and kept alike
  std::string tier_;
  std::string draw_;  // of random steps in front of the cache; empty: there are none
  SchemaPtr schema_;
  std::vector<FileInfo> step_files_;
  std::shared_ptr<void> use_;  // of the prefix: spares its entries from eviction
};

}  // namespace headrace
