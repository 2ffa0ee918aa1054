// One stage of a task: a chain of stateless steps, then at most one step of another kind. Blocks
// run through the chain, and through an asynchronous step behind it, side by side; they come out of
// the stage, and of a stateful step, in the order in which they went in.
//
// Plain bookkeeping: the task owns its stages and guards everything here but the chain and the
// sizer with its own lock; `state` belongs to whoever holds the strand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "element/block.h"
#include "pipeline/engine/block_sizer.h"
#include "pipeline/engine/chain.h"
#include "pipeline/engine/prefix_cache.h"

namespace headrace {

// What flows between stages: a block, or a mark that asks stateful steps to let go of what they
// hold.
struct Parcel {
  // A flush mark behind everything: a step is satisfied, nothing comes after it.
  static constexpr uint64_t kFinal = UINT64_MAX;

  std::optional<Block> block;
  CachePassage passage = {};      // of the block
  std::optional<uint64_t> flush;  // its generation, or kFinal
  uint64_t bytes() const { return block ? block->bytes() : 0; }
  uint64_t rows() const { return block ? block->rows() : 0; }
};

// Blocks on their way through the chain. Tickets are given out in stream order, and finished
// parcels leave in that order.
class OrderWindow {
 public:
  uint64_t Begin() {
    ++running_;
    return next_ticket_++;
  }
  void End(uint64_t ticket, Parcel parcel) {
    --running_;
    done_bytes_ += parcel.bytes();
    done_.emplace(ticket, std::move(parcel));
  }
  // The parcel was dropped: the task lets everything before its stage go.
  void Cancel() { --running_; }

  bool HasNext() const { return !done_.empty() && done_.begin()->first == next_out_; }
  Parcel TakeNext() {
    auto node = done_.extract(done_.begin());
    ++next_out_;
    done_bytes_ -= node.mapped().bytes();
    return std::move(node.mapped());
  }
  // Drops what is done; what still runs must be cancelled.
  void Clear() {
    done_.clear();
    done_bytes_ = 0;
  }

  size_t running() const { return running_; }
  size_t count() const { return running_ + done_.size(); }
  uint64_t done_bytes() const { return done_bytes_; }

 private:
  uint64_t next_ticket_ = 0;
  uint64_t next_out_ = 0;
  size_t running_ = 0;
  std::map<uint64_t, Parcel> done_;
  uint64_t done_bytes_ = 0;
};

struct Stage {
  Stage(Chain c, BlockSizer* s) : chain(std::move(c)), sizer(s) {}

  Chain chain;
  BlockSizer* sizer;  // rows per block of the chain
  // The stateful step; none in a last stage.
  std::optional<EngineStep> step;
  std::unique_ptr<OpState> state;
  // The asynchronous step; then there is no stateful one.
  std::optional<EngineStep> async_step;
  std::unique_ptr<AsyncSession> session;  // null while it could not be opened: the task failed
  size_t max_window = 0;                  // blocks in the chain or waiting for their turn

  std::deque<Parcel> input;  // not of the first stage: its input is the source
  uint64_t input_bytes = 0;
  uint64_t input_rows = 0;
  OrderWindow window;
  uint64_t out_bytes_per_block = 0;  // what the chain made of its last block
  bool strand_busy = false;
  bool discards = false;  // a later step is satisfied: nothing that comes here counts any more
  uint64_t held_bytes = 0;
  uint64_t peak_bytes = 0;  // of input and window together

  // The input is more than it comes to within `nanos` at its pace, waiting included.
  bool Ahead(double nanos) const {
    const double rows = static_cast<double>(input_rows);
    const double at_once = static_cast<double>(max_window) / 2;
    return rows > at_once * static_cast<double>(sizer->rows()) &&
           rows * sizer->elapsed_per_row() > nanos * at_once;
  }
  void Put(Parcel parcel) {
    input_bytes += parcel.bytes();
    input_rows += parcel.rows();
    input.push_back(std::move(parcel));
    NotePeak();
  }
  void NotePeak() { peak_bytes = std::max(peak_bytes, input_bytes + window.done_bytes()); }
  // Nothing waits or runs.
  bool quiet() const { return input.empty() && window.count() == 0 && !strand_busy; }
};

}  // namespace headrace
