#include "pipeline/udf/function_group.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "common/clock.h"
#include "pipeline/udf/keeper.h"

namespace headrace::udf {
namespace {

// A keeper that holds as many jobs comes for more with its next answer: waking it costs more than
// that wait.
constexpr size_t kWokenBelow = 2;

size_t Width(const FunctionSpec& spec, const FunctionPoolOptions& options) {
  size_t most = options.processes;
  if (most == 0) most = std::max(1u, std::thread::hardware_concurrency());
  return spec.processes == 0 ? most : std::min(spec.processes, most);
}

}  // namespace

FunctionGroup::FunctionGroup(FunctionSpec spec, const FunctionPoolOptions& options,
                             FunctionCounters& counters)
    : spec_(std::move(spec)),
      options_(options),
      counters_(counters),
      width_(Width(spec_, options)),
      unused_since_(RealClock().Steady()) {
  absl::MutexLock lock(&mutex_);
  StartKeeperLocked();  // loads the function now: what is wrong with it shows at the start
}

FunctionGroup::~FunctionGroup() { Stop(); }

void FunctionGroup::StartKeeperLocked() { keepers_.push_back(std::make_unique<Keeper>(*this)); }

void FunctionGroup::AddSession() {
  absl::MutexLock lock(&mutex_);
  ++sessions_;
}

void FunctionGroup::DropSession(const Delivery& delivery) {
  std::vector<std::unique_ptr<Job>> dropped;  // freed without the lock
  absl::MutexLock lock(&mutex_);
  --sessions_;
  unused_since_ = RealClock().Steady();
  for (std::unique_ptr<Job>& job : jobs_) {
    if (job->delivery.get() == &delivery) dropped.push_back(std::move(job));
  }
  std::erase_if(jobs_, [](const std::unique_ptr<Job>& job) { return job == nullptr; });
}

void FunctionGroup::Submit(std::unique_ptr<Job> job) {
  absl::Status failure;
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    failure = failure_;
    if (failure.ok()) {
      jobs_.push_back(std::move(job));
      std::vector<Keeper*>& wanting = idle_.empty() ? hungry_ : idle_;
      if (idle_.empty() && keepers_.size() < width_) {
        StartKeeperLocked();
      } else if (!wanting.empty()) {
        Keeper* keeper = wanting.back();
        wanting.pop_back();
        keeper->Wake();
      }
      return;
    }
  }
  job->delivery->Deliver(job->done, failure);
}

std::unique_ptr<Job> FunctionGroup::Take(Keeper& keeper, size_t held) {
  absl::MutexLock lock(&mutex_);
  std::erase(idle_, &keeper);
  std::erase(hungry_, &keeper);
  if (!jobs_.empty() && (held == 0 || jobs_.size() > idle_.size())) {
    std::unique_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }
  if (held < kWokenBelow) (held == 0 ? idle_ : hungry_).push_back(&keeper);
  return nullptr;
}

void FunctionGroup::Fail(const absl::Status& status) {
  std::deque<std::unique_ptr<Job>> jobs;
  {
    absl::MutexLock lock(&mutex_);
    if (failure_.ok()) failure_ = status;
    jobs.swap(jobs_);
  }
  for (const std::unique_ptr<Job>& job : jobs) job->delivery->Deliver(job->done, status);
}

absl::Status FunctionGroup::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

bool FunctionGroup::Unused(absl::Duration idle) const {
  absl::MutexLock lock(&mutex_);
  return sessions_ == 0 && RealClock().Steady() - unused_since_ > idle;
}

void FunctionGroup::Stop() {
  std::vector<std::unique_ptr<Keeper>> keepers;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    idle_.clear();
    hungry_.clear();
    keepers.swap(keepers_);
  }
  for (const std::unique_ptr<Keeper>& keeper : keepers) keeper->RequestStop();
  keepers.clear();  // joins; they may still call Take()
}

}  // namespace headrace::udf
