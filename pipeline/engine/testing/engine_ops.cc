// Steps for tests: they fail, filter, cut, wait and break on purpose.
#include <algorithm>
#include <deque>
#include <random>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "common/status.h"
#include "pipeline/engine/testing/engine_rig.h"
#include "pipeline/graph/params.h"

namespace headrace::testing_engine {
namespace {

struct EveryParams {
  int64_t every = 0;
};
struct NoParams {};
using MadeOp = absl::StatusOr<std::unique_ptr<Op>>;

// A number that depends on the record alone.
uint64_t Mixed(const Provenance& provenance) {
  const Run& run = provenance.front();
  uint64_t h = (run.split * 0x9E3779B97F4A7C15ull) ^ (run.first * 0xC2B2AE3D27D4EB4Full) ^ run.part;
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9ull;
  return h ^ (h >> 32);
}

class Same : public StatelessOp {
 public:
  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }
};

class FailSome final : public Same {
 public:
  explicit FailSome(EveryParams p) : every_(static_cast<uint64_t>(p.every)) {}
  absl::Status Run(Block& block, const StepContext&) const override {
    for (size_t row = 0; row < block.rows(); ++row) {
      if (Mixed(block.provenance(row)) % every_ == 0)
        block.Fail(row, InvalidArgument("does not please"));
    }
    return absl::OkStatus();
  }

 private:
  uint64_t every_;
};

// Adds a draw to x.
class Noise final : public Same {
 public:
  OpTraits traits() const override { return {.random = true}; }
  absl::Status Run(Block& block, const StepContext& context) const override {
    for (size_t row = 0; row < block.rows(); ++row) {
      RandomStream draws(context.random, block.provenance(row).front());
      Cell& x = block.column(0)[row];
      x = MakeScalarCell<int64_t>(block.arena(),
                                  x.as<int64_t>()[0] + static_cast<int64_t>(draws.Below(1000)));
    }
    return absl::OkStatus();
  }
};

class DropSome final : public Same {
 public:
  explicit DropSome(EveryParams p) : every_(static_cast<uint64_t>(p.every)) {}
  OpTraits traits() const override { return {.one_to_one = false}; }
  absl::Status Run(Block& block, const StepContext&) const override {
    for (size_t row = 0; row < block.rows(); ++row) {
      if ((Mixed(block.provenance(row)) >> 8) % every_ == 0) block.Filter(row);
    }
    return absl::OkStatus();
  }

 private:
  uint64_t every_;
};

class Fatal final : public Same {
 public:
  explicit Fatal(EveryParams p) : at_(static_cast<uint64_t>(p.every)) {}
  absl::Status Run(Block& block, const StepContext&) const override {
    for (size_t row = 0; row < block.rows(); ++row) {
      if (block.provenance(row).front().first == at_) return PermissionDenied("not allowed");
    }
    return absl::OkStatus();
  }

 private:
  uint64_t at_;
};

class Hook final : public Same {
 public:
  explicit Hook(std::shared_ptr<const TestHooks> hooks) : hooks_(std::move(hooks)) {}
  absl::Status Run(Block& block, const StepContext&) const override {
    if (hooks_->run) hooks_->run(block);
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<const TestHooks> hooks_;
};

// A stateful step made of a function of one block.
class BlockState final : public OpState {
 public:
  explicit BlockState(std::function<void(Block, Emit)> push) : push_(std::move(push)) {}
  absl::Status Push(Block block, Emit emit) override {
    push_(std::move(block), emit);
    return absl::OkStatus();
  }
  absl::Status Finish(Emit) override { return absl::OkStatus(); }

 private:
  std::function<void(Block, Emit)> push_;
};

class BlockOp final : public StatefulOp {
 public:
  explicit BlockOp(std::function<void(Block, Emit)> push) : push_(std::move(push)) {}
  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }
  OpTraits traits() const override { return {.one_to_one = false}; }
  std::unique_ptr<OpState> NewState(const StepContext&) const override {
    return std::make_unique<BlockState>(push_);
  }

 private:
  std::function<void(Block, Emit)> push_;
};

// Each row becomes 1 to `most` rows, as many as its record says.
void Cut(uint64_t most, Block block, Emit emit) {
  Block out(block.schema_ptr());
  out.arena().Adopt(block.arena_ptr(), block.bytes());
  std::vector<Cell> cells(block.columns().size());
  for (size_t row = 0; row < block.rows(); ++row) {
    const auto parts = static_cast<uint32_t>(1 + (Mixed(block.provenance(row)) >> 16) % most);
    for (size_t f = 0; f < cells.size(); ++f) cells[f] = block.column(f)[row];
    for (uint32_t part = 0; part < parts; ++part) {
      Run run = block.provenance(row).front();
      run.part = part;
      run.parts = parts;
      out.AppendRow({run}, cells);
    }
  }
  emit(std::move(out));
}

// Forgets a record: a bug that the books must find.
void Lose(uint64_t at, Block block, Emit emit) {
  for (size_t row = 0; row < block.rows(); ++row) {
    if (block.provenance(row).front().first == at) block.Drop(row);
  }
  block.Compact();
  block.dropped().clear();
  emit(std::move(block));
}

// Blocks are done on a thread of its own, in no order, several under way. One row in `every` ends.
class ElsewhereSession final : public AsyncSession {
 public:
  explicit ElsewhereSession(uint64_t every) : every_(every), thread_([this] { Loop(); }) {}
  ~ElsewhereSession() override { Stop(); }
  void Start(Block block, Done done) override {
    absl::MutexLock lock(&mutex_);
    if (!stop_) jobs_.push_back({std::move(block), std::move(done)});
  }
  void Stop() override {
    {
      absl::MutexLock lock(&mutex_);
      stop_ = true;
    }
    if (thread_.joinable()) thread_.join();
  }
  size_t width() const override { return 3; }

 private:
  void Loop() {
    std::mt19937 random(7);
    absl::MutexLock lock(&mutex_);
    while (true) {
      const auto some = [this] {
        mutex_.AssertReaderHeld();
        return stop_ || !jobs_.empty();
      };
      mutex_.Await(absl::Condition(&some));
      if (stop_) return;
      const size_t at = random() % jobs_.size();
      auto [block, done] = std::move(jobs_[at]);
      jobs_.erase(jobs_.begin() + static_cast<ptrdiff_t>(at));
      mutex_.Unlock();
      for (size_t row = 0; row < block.rows(); ++row) {
        const uint64_t draw = (Mixed(block.provenance(row)) >> 12) % (2 * every_);
        if (draw == 0) block.Filter(row);
        if (draw == 1) block.Fail(row, InvalidArgument("went wrong elsewhere"));
      }
      done(AsyncResult{std::move(block), 1000});
      mutex_.Lock();
    }
  }

  const uint64_t every_;
  absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::pair<Block, Done>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

class Elsewhere final : public AsyncOp {
 public:
  explicit Elsewhere(EveryParams p) : every_(static_cast<uint64_t>(p.every)) {}
  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }
  OpTraits traits() const override { return {.one_to_one = false}; }
  absl::StatusOr<std::unique_ptr<AsyncSession>> Open(const StepContext&) const override {
    if (every_ == 0) return FailedPrecondition("not on this worker");
    return std::make_unique<ElsewhereSession>(every_);
  }

 private:
  uint64_t every_;
};

ParamSet<EveryParams> Every() {
  ParamSet<EveryParams> params;
  params.Required("every", &EveryParams::every, "one in so many, or which one");
  return params;
}

}  // namespace

void RegisterTestOps(OpRegistry& registry, std::shared_ptr<const TestHooks> hooks) {
  registry.Add<EveryParams>("fail_some", "For tests.", Every(),
                            [](EveryParams p) -> MadeOp { return std::make_unique<FailSome>(p); });
  registry.Add<EveryParams>("drop_some", "For tests.", Every(),
                            [](EveryParams p) -> MadeOp { return std::make_unique<DropSome>(p); });
  registry.Add<EveryParams>("fatal", "For tests.", Every(),
                            [](EveryParams p) -> MadeOp { return std::make_unique<Fatal>(p); });
  registry.Add<EveryParams>("cut", "For tests.", Every(), [](EveryParams p) -> MadeOp {
    return std::make_unique<BlockOp>(
        [most = static_cast<uint64_t>(p.every)](Block block, Emit emit) {
          Cut(most, std::move(block), emit);
        });
  });
  registry.Add<EveryParams>("lose", "For tests.", Every(), [](EveryParams p) -> MadeOp {
    return std::make_unique<BlockOp>([at = static_cast<uint64_t>(p.every)](Block block, Emit emit) {
      Lose(at, std::move(block), emit);
    });
  });
  registry.Add<EveryParams>("elsewhere", "For tests.", Every(),
                            [](EveryParams p) -> MadeOp { return std::make_unique<Elsewhere>(p); });
  registry.Add<NoParams>("noise", "For tests.", ParamSet<NoParams>(),
                         [](NoParams) -> MadeOp { return std::make_unique<Noise>(); });
  registry.Add<NoParams>("hook", "For tests.", ParamSet<NoParams>(),
                         [hooks](NoParams) -> MadeOp { return std::make_unique<Hook>(hooks); });
  registry.Add<NoParams>("stateful_hook", "For tests.", ParamSet<NoParams>(),
                         [hooks](NoParams) -> MadeOp {
                           return std::make_unique<BlockOp>([hooks](Block block, Emit emit) {
                             if (hooks->stateful_run) hooks->stateful_run(block);
                             emit(std::move(block));
                           });
                         });
}

v1::Step MakeStep(std::string op, std::initializer_list<std::pair<const char*, int64_t>> params) {
  v1::Step step;
  step.set_op(std::move(op));
  for (const auto& [name, value] : params) {
    v1::NamedValue* entry = step.mutable_params()->add_entries();
    entry->set_name(name);
    *entry->mutable_value() = ToValue(value);
  }
  return step;
}

}  // namespace headrace::testing_engine
