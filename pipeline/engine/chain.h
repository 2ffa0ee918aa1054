// The stateless steps between two stateful ones: one thread carries a block through all of them.
// Owned by its stage; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "element/block.h"
#include "pipeline/engine/accounting.h"
#include "pipeline/engine/cpu_meter.h"
#include "pipeline/engine/prefix_cache.h"
#include "pipeline/engine/step_tally.h"
#include "pipeline/graph/graph.h"

namespace headrace {

// A step as the engine runs it.
struct EngineStep {
  const Node* node = nullptr;
  size_t index = 0;  // of the node
  StepContext context;
  std::string where;  // Node::Where(): begins messages
  std::string label;  // Node::Label(): names it in tables
  StepTally* tally = nullptr;
};

// Books what ended in `block` at `step` (compacting it) and empties its lists of ends. With
// `fail_on_error`, the first failed record is returned as an error that names step, record and
// file.
absl::Status BookEnds(Block& block, const EngineStep& step, bool fail_on_error,
                      Accounting& accounting);

class Chain {
 public:
  // `cache`: the node where rows may come from a cache; SIZE_MAX: none.
  Chain(std::vector<EngineStep> steps, size_t cache, bool fail_on_error, const CpuMeter& cpu,
        Accounting& accounting)
      : steps_(std::move(steps)),
        cache_(cache),
        fail_on_error_(fail_on_error),
        cpu_(cpu),
        accounting_(accounting) {}

  bool empty() const { return steps_.empty(); }
  // After: the rows that are left, with the last step's schema, all ends booked. Returns the CPU
  // time it took. An error is fatal for the task. A cached block skips what is in front of the
  // cache; one that is to be kept leaves its rows there.
  absl::StatusOr<uint64_t> Run(Block& block, CachePassage& passage) const;

 private:
  const std::vector<EngineStep> steps_;
  const size_t cache_;
  const bool fail_on_error_;
  const CpuMeter& cpu_;
  Accounting& accounting_;
};

}  // namespace headrace
