// For tests of the engine: a format whose records are a function of their number, steps that fail,
// filter, cut and wait on purpose, and a driver that collects all that a task gives. No binary
// links this.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "pipeline/engine/task.h"
#include "pipeline/formats/format.h"
#include "pipeline/graph/graph.h"
#include "pipeline/graph/op_registry.h"

namespace headrace::testing_engine {

// One field `x`: int64, split * 1,000,000 + index; and `pad`, bytes of `pad_bytes`.
class CountingFormat final : public Format {
 public:
  struct Options {
    size_t pad_bytes = 0;
    // Records that cannot be read, or have no content (settled by the reader), by (split, index).
    std::function<bool(uint64_t, uint64_t)> damaged = {};
    std::function<bool(uint64_t, uint64_t)> blank = {};
    // Called before each read of a split; may block or give an error.
    std::function<absl::Status(uint64_t split)> before_read = {};
  };
  explicit CountingFormat(Options options) : options_(std::move(options)) {}

  static Schema RecordSchema();
  absl::StatusOr<Schema> RecordSchema(FileSystem&, const std::vector<FileInfo>&) override {
    return RecordSchema();
  }
  absl::StatusOr<std::unique_ptr<RecordReader>> Open(FileSystem&, const v1::Split& split,
                                                     SchemaPtr) override;

 private:
  const Options options_;
};

v1::Split MakeSplit(uint64_t id, uint64_t records);
v1::Lease MakeLease(uint64_t number, uint64_t split, uint64_t records, uint32_t pass = 0);

// A pause that a test opens. Every wait gives up, failing the test, after ten seconds.
class Gate {
 public:
  void Open();
  void Wait();                    // what is to be held back
  void AwaitArrivals(int count);  // so many waits have begun

 private:
  absl::Mutex mutex_;
  bool open_ = false;
  int arrived_ = 0;
};

// The real steps and: fail_some {every}, drop_some {every}, cut {most} (stateful, a record
// into 1..most parts), noise (random: adds a draw to x), fatal {at}, lose {at} (a step with a bug),
// elsewhere {every} (asynchronous), hook (calls TestHooks::run).
struct TestHooks {
  std::function<void(const Block&)> run = {};           // in `hook`
  std::function<void(const Block&)> stateful_run = {};  // in `stateful_hook`
};
void RegisterTestOps(OpRegistry& registry, std::shared_ptr<const TestHooks> hooks);

v1::Step MakeStep(std::string op,
                  std::initializer_list<std::pair<const char*, int64_t>> params = {});

using Element = std::tuple<uint64_t, uint64_t, uint32_t, uint32_t>;  // split, index, part, pass
using Census = std::map<Element, int>;
void AddRun(const Run& run, Census& census);
void AddRun(const v1::Run& run, Census& census);

// What a task gave.
struct Outcome {
  std::vector<std::vector<int64_t>> rows;  // `x` of each output row
  std::vector<Provenance> provenance;      // of each row
  std::vector<v1::SplitReport> reports;
  size_t largest_block_rows = 0;

  std::vector<int64_t> values() const;  // all rows' values, one after the other
  Census output() const;
  Census settled() const;
  uint64_t failed() const;
  // The last report of a lease that says read_to_end; a test failure when there is none.
  v1::SplitReport EndOf(uint64_t lease) const;
};

// Pools, graph and one task over a CountingFormat.
class Rig {
 public:
  struct Options {
    size_t threads = 2;
    size_t io_threads = 2;
    std::vector<v1::Step> steps = {};
    uint64_t seed = 1;
    CountingFormat::Options format = {};
    TaskOptions task = {};
    TestHooks hooks = {};
    const CpuMeter* cpu = nullptr;
    std::shared_ptr<FrameMemory> memory = nullptr;
    std::shared_ptr<PrefixCache> cache = nullptr;
  };
  explicit Rig(Options options);
  ~Rig();

  Task& task() { return *task_; }
  void Stop() { task_.reset(); }
  // Takes output and reports until `done` or until nothing has come for ten seconds (a test
  // failure).
  void CollectUntil(const std::function<bool()>& done, Outcome& out);
  // Until the task is idle.
  Outcome Collect();
  // Adds a lease per entry (numbers and splits from 1), then NoMoreLeases, then Collect.
  Outcome RunSplits(const std::vector<uint64_t>& records);
  // Waits until the task has failed.
  absl::Status AwaitFailure();
  int want_calls() const;

 private:
  void TakeAll(Outcome& out);
  void Changed();

  OpRegistry ops_;
  std::unique_ptr<ComputePool> compute_;
  std::unique_ptr<IoPool> io_;
  mutable absl::Mutex mutex_;
  uint64_t changes_ = 0;
  int want_calls_ = 0;
  std::unique_ptr<Task> task_;
};

}  // namespace headrace::testing_engine
