// What a step is. A step is one file in pipeline/ops/ that defines a class over StatelessOp or
// StatefulOp and registers it under the name that pipelines use (docs/adding-a-step.md).
//
// Life of an op: made from its parameters, Bind() once against the schema that reaches it (type and
// shape check happen here, when the pipeline is built), then shared, immutable, by every task and
// thread of the worker.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/block.h"
#include "element/schema.h"
#include "pipeline/graph/random.h"

namespace headrace {

class FileSystem;    // pipeline/sources
class FunctionPool;  // pipeline/udf

// How a step of one field works on its values, for the optimizer: a step of kValues and one of
// kPlaces commute, bit for bit.
enum class FieldWork {
  kOther,
  kValues,  // each value becomes another, by its channel at most: normalize
  kPlaces,  // values go to other places or are left out, none is changed or added: crops, flips
};

// What the optimizer and the cost model may assume of a step.
struct OpTraits {
  bool random = false;     // draws numbers: a cache after it would freeze them
  bool one_to_one = true;  // exactly one row out per row in (failures aside)
  bool global_order =
      false;  // counts rows over the whole epoch (take, skip): the epoch then runs on one worker
  bool emits_batches = false;  // a row out stands for many records
  bool cuts_records = false;   // a row out is one of several parts of a record
  // The fields that it reads or writes, when it changes them in place, adds none, and does the same
  // whatever the others are. Not set: not said, and nothing moves over it.
  std::optional<std::vector<std::string>> fields = std::nullopt;
  FieldWork work = FieldWork::kOther;
};

// Handed to each call of a step; cheap to copy.
struct StepContext {
  RandomKey random;   // (seed, epoch, step id): RecordRandom(context.random, provenance) gives a
                      // row's numbers
  size_t shard = 0;   // for the `shard` hint: this task's slot ...
  size_t shards = 1;  // ... of how many
  bool batches_in = false;  // the rows that come in are batches
  FunctionPool* functions =
      nullptr;  // runs Python functions; null where there is none (it outlives the task)
  // Of a step whose batches leave the task: where to make them; null: the block's own memory.
  std::shared_ptr<FrameMemory> memory = nullptr;
  FileSystem* files = nullptr;  // where a step finds files that its parameters name; outlives it
};

class Op {
 public:
  virtual ~Op() = default;
  // Checks `input`, remembers field positions, returns the schema of what leaves the step. Called
  // once, before any use. Errors: INVALID_ARGUMENT that names the field and what was expected.
  virtual absl::StatusOr<Schema> Bind(const Schema& input) = 0;
  virtual OpTraits traits() const { return {}; }
};

// Each row on its own; may change columns, filter and fail rows, never reorder or add them.
class StatelessOp : public Op {
 public:
  // Works on all rows of `block` in place. A row that cannot be done: block.Fail(row, status), go
  // on with the next. A returned error is fatal for the task (a bug, a missing permission), not for
  // a row. Thread-safe. The engine calls block.Compact() and block.SetSchema(bound schema)
  // afterwards; the step sets block.columns().
  virtual absl::Status Run(Block& block, const StepContext& context) const = 0;
};

// Where a stateful step's output goes.
using Emit = absl::FunctionRef<void(Block)>;

// The state of a stateful step in one task. Called by one thread at a time, in the order of the
// stream.
class OpState {
 public:
  virtual ~OpState() = default;
  virtual absl::Status Push(Block block, Emit emit) = 0;
  // The stream has ended: emit what is held. Then the state is as new (more splits may come); take
  // and skip count on.
  virtual absl::Status Finish(Emit emit) = 0;
  // Bytes kept between calls; the engine counts them into the task's memory.
  virtual size_t held_bytes() const { return 0; }
  // True when no further row can change the output (take): the engine stops reading and settles the
  // rest.
  virtual bool satisfied() const { return false; }
};

// Rows that depend on each other: shuffle, batch, take, ...
class StatefulOp : public Op {
 public:
  virtual std::unique_ptr<OpState> NewState(const StepContext& context) const = 0;
};

// What became of a block outside of the compute threads.
struct AsyncResult {
  Block block;  // as a stateless or stateful step may leave it: rows marked, cut, with the bound
                // columns
  uint64_t cpu_nanos = 0;  // what it cost, wherever it was spent
};

// A task's way to an AsyncOp's work. Thread-safe.
class AsyncSession {
 public:
  using Done = std::function<void(absl::StatusOr<AsyncResult>)>;

  virtual ~AsyncSession() = default;  // after Stop()
  // Never waits. `done` is called once from another thread, with an error when the task cannot go
  // on, unless Stop() comes before. Blocks may be done in any order. Silent after Stop().
  virtual void Start(Block block, Done done) = 0;
  // When it returns, no `done` is running and none will be called. Bounded, idempotent.
  virtual void Stop() = 0;
  // How many blocks are worth having under way.
  virtual size_t width() const = 0;
};

// Blocks that are worked on elsewhere (a subprocess) while compute threads do other things. The
// engine keeps their order.
class AsyncOp : public Op {
 public:
  // FAILED_PRECONDITION: this worker does not do such work; says which key of its config would
  // allow it.
  virtual absl::StatusOr<std::unique_ptr<AsyncSession>> Open(const StepContext& context) const = 0;
};

}  // namespace headrace
