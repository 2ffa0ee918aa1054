#include "pipeline/engine/chain.h"

#include "common/status.h"

namespace headrace {

absl::Status BookEnds(Block& block, const EngineStep& step, bool fail_on_error,
                      Accounting& accounting) {
  block.Compact();
  accounting.Settle(block.settled());
  accounting.Leave(block.dropped());
  block.settled().clear();
  block.dropped().clear();
  if (block.failures().empty()) return absl::OkStatus();
  uint64_t failed = 0;
  for (const RowFailure& failure : block.failures()) failed += failure.records;
  step.tally->failed.fetch_add(failed, std::memory_order_relaxed);
  const std::string first = accounting.Fail(block.failures(), step.where, step.label);
  const absl::StatusCode code = block.failures().front().status.code();
  block.failures().clear();
  return fail_on_error ? absl::Status(code, first) : absl::OkStatus();
}

absl::StatusOr<uint64_t> Chain::Run(Block& block, CachePassage& passage) const {
  // All of it is in front of the cache that the block came from.
  const bool skip_all = passage.cached && !steps_.empty() && steps_.back().index < cache_;
  if (steps_.empty() || skip_all) return 0;
  uint64_t bytes = block.live_bytes();
  const uint64_t start = cpu_.ThreadNanos();
  uint64_t before = start;
  for (const EngineStep& step : steps_) {
    if (block.rows() == 0) break;
    if (passage.cached && step.index < cache_) continue;
    if (step.index == cache_) passage.Deposit(block);
    const size_t rows = block.rows();
    step.tally->In(rows, bytes);
    const absl::Status status = step.node->stateless->Run(block, step.context);
    if (!status.ok()) return Annotate(status, step.where);
    if (!block.failures().empty()) passage.fill.reset();  // breaks it
    HR_RETURN_IF_ERROR(BookEnds(block, step, fail_on_error_, accounting_));
    block.SetSchema(step.node->output);
    bytes = block.live_bytes();
    step.tally->Out(block.rows(), bytes);
    const uint64_t now = cpu_.ThreadNanos();
    step.tally->Cpu(now - before, rows);
    before = now;
  }
  // The rest of the chain has nothing to do, but what follows expects the last schema.
  if (block.rows() == 0) block = Block(steps_.back().node->output);
  return before - start;
}

}  // namespace headrace
