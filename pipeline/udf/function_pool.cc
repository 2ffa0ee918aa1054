#include "pipeline/udf/function_pool.h"

#include <unistd.h>

#include <utility>

#include "common/status.h"
#include "pipeline/udf/function_group.h"

namespace headrace {
namespace {

// How long subprocesses wait for the function's next task.
constexpr absl::Duration kKeepUnused = absl::Minutes(1);
// Blocks under way for each subprocess: quick ones share wake-ups, several at a time.
constexpr size_t kAhead = 24;

class Session final : public AsyncSession {
 public:
  Session(std::shared_ptr<udf::FunctionGroup> group, std::shared_ptr<udf::Delivery> delivery)
      : group_(std::move(group)), delivery_(std::move(delivery)) {
    group_->AddSession();
  }
  ~Session() override { Stop(); }

  void Start(Block block, Done done) override {
    if (delivery_->stopped()) return;
    group_->Submit(std::make_unique<udf::Job>(std::move(block), std::move(done), delivery_));
  }
  void Stop() override {
    if (stopped_.exchange(true)) return;
    delivery_->Stop();
    group_->DropSession(*delivery_);
  }
  size_t width() const override { return kAhead * group_->width(); }

 private:
  const std::shared_ptr<udf::FunctionGroup> group_;
  const std::shared_ptr<udf::Delivery> delivery_;
  std::atomic<bool> stopped_{false};
};

}  // namespace

absl::StatusOr<FunctionMode> ParseFunctionMode(std::string_view text) {
  if (text == "off") return FunctionMode::kOff;
  if (text == "import") return FunctionMode::kImport;
  if (text == "pickle") return FunctionMode::kPickle;
  return InvalidArgument("udf: off, import or pickle, not '{}'", text);
}

FunctionPool::FunctionPool(FunctionPoolOptions options) : options_(std::move(options)) {}

FunctionPool::~FunctionPool() {
  absl::MutexLock lock(&mutex_);
  for (auto& [key, group] : groups_) group->Stop();
}

std::shared_ptr<udf::FunctionGroup> FunctionPool::GroupOf(const FunctionSpec& spec) {
  const std::string key = fmt::format("{} {} {}", absl::FormatDuration(spec.timeout),
                                      spec.processes, SpecJson(spec, {}, 0));
  std::vector<std::shared_ptr<udf::FunctionGroup>> gone;  // end without the lock
  absl::MutexLock lock(&mutex_);
  for (auto at = groups_.begin(); at != groups_.end();) {
    const bool of_another = at->first != key;
    // One that could not load is tried anew: the operator may have installed what it lacked.
    const bool over = of_another
                          ? at->second->Unused(kKeepUnused)
                          : !at->second->failure().ok() && at->second->Unused(absl::ZeroDuration());
    if (over) gone.push_back(std::move(at->second));
    at = over ? groups_.erase(at) : std::next(at);
  }
  std::shared_ptr<udf::FunctionGroup>& group = groups_[key];
  if (group == nullptr) group = std::make_shared<udf::FunctionGroup>(spec, options_, counters_);
  return group;
}

absl::StatusOr<std::unique_ptr<AsyncSession>> FunctionPool::Open(
    const FunctionSpec& spec, std::shared_ptr<const udf::ColumnPlan> plan,
    const StepContext& context) {
  if (options_.mode == FunctionMode::kOff) {
    return FailedPrecondition(
        "this worker runs no Python functions; `udf: import` in its config (HEADRACE_WORKER_UDF) "
        "allows those of its own modules");
  }
  if (!spec.pickled.empty() && options_.mode != FunctionMode::kPickle) {
    return FailedPrecondition(
        "this worker runs functions of its own modules only; put '{}' into a module, or allow code "
        "from clients with `udf: pickle` in its config (HEADRACE_WORKER_UDF)",
        spec.function);
  }
  FunctionSpec own = spec;
  own.batched = spec.batched && !context.batches_in;  // a row is a batch already
  if (own.batched && own.random) {
    return InvalidArgument(
        "'{}' takes `rng`, and how many records it gets at once may differ from run to run; give "
        "it "
        "single records (map), or batches (after `batch`)",
        spec.function);
  }
  auto delivery = std::make_shared<udf::Delivery>(std::move(plan), context.random);
  return std::make_unique<Session>(GroupOf(own), std::move(delivery));
}

}  // namespace headrace
