#include "pipeline/engine/staged_task.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kLeasesToAbandon = 64;  // brought at a time once the task is satisfied

bool CanBeSatisfied(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const Node& node) { return node.traits.global_order; });
}

TaskDeps WithDefaults(TaskDeps deps) {
  if (deps.clock == nullptr) deps.clock = &RealClock();
  if (deps.cpu == nullptr) deps.cpu = &RealCpuMeter();
  return deps;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Task>> Task::Create(TaskDeps deps, TaskOptions options,
                                                   TaskCallbacks callbacks) {
  if (deps.compute == nullptr || deps.io == nullptr || deps.files == nullptr ||
      deps.format == nullptr || deps.graph == nullptr) {
    return Internal("a task needs compute, io, files, format and graph");
  }
  if (options.shards == 0 || options.shard >= options.shards) {
    return InvalidArgument("slot {} of {}: slots count from 0", options.shard, options.shards);
  }
  auto task = std::make_unique<StagedTask>(std::move(deps), options, std::move(callbacks));
  HR_RETURN_IF_ERROR(task->made());
  return task;
}

StagedTask::StagedTask(TaskDeps deps, TaskOptions options, TaskCallbacks callbacks)
    : deps_(WithDefaults(std::move(deps))),
      options_(options),
      callbacks_(std::move(callbacks)),
      cpu_(*deps_.cpu),
      fail_on_error_(options.on_error != v1::ON_ERROR_SKIP),
      accounting_({.keep_emitted = CanBeSatisfied(*deps_.graph),
                   .replay = options.replay,
                   .max_samples = options.max_failure_samples}),
      output_(
          options.output, deps_.graph->batched(), [this] { Call(callbacks_.on_output); },
          [this] { seat_->Notify(); }),
      source_(MakeSource()) {
  MakeStages();
  seat_ = deps_.compute->Join(*this, options_.weight);
  seat_->Notify();  // a step may be satisfied from the start
}

StagedTask::~StagedTask() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  source_->Stop();
  for (const auto& stage : stages_) {
    if (stage->session) stage->session->Stop();
  }
  seat_->Leave();  // running units still use the seat: it goes with the members
}

std::shared_ptr<SourceStage> StagedTask::MakeSource() {
  SourceStage::Options options;
  options.read_bytes = options_.read_bytes;
  options.open_splits = options_.open_splits;
  options.max_leases_ahead = options_.max_leases_ahead;
  options.max_block_bytes = options_.max_block_bytes;
  options.max_record_bytes = options_.max_record_bytes;
  options.target_block_nanos = options_.target_block_nanos;
  options.max_block_rows = options_.max_block_rows;
  SourceStage::Callbacks callbacks;
  callbacks.on_item = [this] { seat_->Notify(); };
  callbacks.on_want_leases = [this] { Call(callbacks_.on_want_leases); };
  callbacks.on_error = [this](const absl::Status& status) { Fail(status); };
  return std::make_shared<SourceStage>(
      SourceStage::Deps{.io = deps_.io,
                        .clock = deps_.clock,
                        .cpu = deps_.cpu,
                        .files = deps_.files,
                        .format = deps_.format,
                        .schema = deps_.graph->source_schema(),
                        .cache = deps_.graph->cache() ? deps_.cache : nullptr},
      options, std::move(callbacks));
}

size_t StagedTask::CacheNode() const {
  return deps_.graph->cache() ? deps_.graph->cache()->node : SIZE_MAX;
}

EngineStep StagedTask::MakeStep(size_t index) const {
  const Node& node = deps_.graph->nodes()[index];
  EngineStep step;
  step.node = &node;
  step.index = index;
  step.context.random = {
      .seed = node.seed, .epoch = options_.epoch, .step = static_cast<uint32_t>(node.draw_index)};
  // Kept rows come in few variants, whether they are found in a cache or made.
  if (const auto& cache = deps_.graph->cache(); cache && cache->variants > 0 && index < cache->node)
    step.context.random.epoch %= cache->variants;
  if (!options_.shard_by_record) {
    step.context.shard = options_.shard;
    step.context.shards = options_.shards;
  }
  step.context.batches_in = node.batches_in;
  step.context.functions = deps_.functions;
  step.context.files = deps_.files.get();
  step.where = node.Where();
  step.label = node.Label();
  step.tally = tallies_[index].get();
  return step;
}

void StagedTask::MakeStages() {
  const std::vector<Node>& nodes = deps_.graph->nodes();
  for (size_t i = 0; i < nodes.size(); ++i) tallies_.push_back(std::make_unique<StepTally>());
  read_step_.label = "0:read";
  read_step_.tally = &source_->tally();
  sink_step_.where = "output";
  sink_step_.label = nodes.empty() ? read_step_.label : nodes.back().Label();
  sink_step_.tally = nodes.empty() ? read_step_.tally : tallies_.back().get();

  std::vector<EngineStep> chain;
  const auto close = [&] {
    BlockSizer* sizer = &source_->sizer();
    if (!stages_.empty()) {
      sizers_.push_back(
          std::make_unique<BlockSizer>(options_.target_block_nanos, options_.max_block_rows));
      sizer = sizers_.back().get();
    }
    stages_.push_back(std::make_unique<Stage>(
        Chain(std::exchange(chain, {}), CacheNode(), fail_on_error_, cpu_, accounting_), sizer));
    stages_.back()->max_window = 2 * deps_.compute->threads() + 2;
  };
  size_t last_batching = nodes.size();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].traits.emits_batches) last_batching = i;
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    EngineStep step = MakeStep(i);
    if (i == last_batching) step.context.memory = deps_.memory;
    if (nodes[i].stateless != nullptr) {
      chain.push_back(std::move(step));
      continue;
    }
    close();
    Stage& stage = *stages_.back();
    if (nodes[i].async != nullptr) {
      OpenSession(std::move(step), stage);
      continue;
    }
    stage.state = nodes[i].stateful->NewState(step.context);
    stage.step = std::move(step);
    // An empty parcel makes the strand look at once whether the step wants any rows (take: 0).
    if (stage.state->satisfied()) stage.window.End(stage.window.Begin(), Parcel());
  }
  if (stages_.empty() || !chain.empty()) close();
}

void StagedTask::OpenSession(EngineStep step, Stage& stage) {
  absl::StatusOr<std::unique_ptr<AsyncSession>> session = step.node->async->Open(step.context);
  if (session.ok()) {
    stage.session = *std::move(session);
    stage.max_window = std::max(stage.max_window, 2 * stage.session->width() + 2);
  } else if (made_.ok()) {
    made_ = Annotate(session.status(), step.where);
  }
  stage.async_step = std::move(step);
}

absl::Status StagedTask::AddLease(const v1::Lease& lease) {
  auto skip = std::make_shared<const SkipSet>(lease.skip());
  bool abandon = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return absl::OkStatus();  // the task's own error says it
    HR_ASSIGN_OR_RETURN(const bool opened, accounting_.Open(lease, skip, generation_));
    if (!opened) return absl::OkStatus();
    abandon = final_passed_;
    if (!satisfied_) {
      RecordSieve::Rule rule;
      rule.pass = lease.pass();
      rule.first = lease.first_record();
      if (lease.end_record() != 0) rule.end = lease.end_record();
      if (options_.shard_by_record) {
        rule.shard = options_.shard;
        rule.shards = options_.shards;
      }
      if (!options_.replay) rule.skip = std::move(skip);
      unflushed_ = true;
      source_->AddLease(lease, std::move(rule));
    }
  }
  if (abandon) {
    accounting_.Abandon();
    Call(callbacks_.on_report);
  }
  return absl::OkStatus();
}

size_t StagedTask::LeasesWanted() const {
  absl::MutexLock lock(&mutex_);
  if (!status_.ok() || stopping_) return 0;
  return satisfied_ ? kLeasesToAbandon : source_->LeasesWanted();
}

void StagedTask::Shed(size_t idle) {
  const bool alone = options_.replay || options_.mark_windows || options_.shards > 1;
  bool some = false;
  {
    absl::MutexLock lock(&mutex_);
    if (alone || satisfied_ || stopping_ || !status_.ok()) return;
    // Under the lock: no end of a lease is booked before its cut.
    for (SourceStage::Cut& cut : source_->Shed(idle)) {
      accounting_.Cut(cut.lease, std::move(cut.at));
      some = true;
    }
  }
  if (!some) return;
  seat_->Notify();
  Call(callbacks_.on_report);
}

void StagedTask::NoMoreLeases() {
  {
    absl::MutexLock lock(&mutex_);
    if (!unflushed_ || satisfied_ || !status_.ok()) return;
    unflushed_ = false;
    source_->AddFlush(generation_++);
  }
  seat_->Notify();
}

v1::TaskStats StagedTask::Stats() const {
  v1::TaskStats stats;
  source_->tally().Fill(read_step_.label, *stats.add_steps());
  for (size_t i = 0; i < tallies_.size(); ++i) {
    tallies_[i]->Fill(deps_.graph->nodes()[i].Label(), *stats.add_steps());
  }
  if (deps_.cache != nullptr && deps_.graph->cache())
    source_->cached_tally().Fill("0:cached", *stats.add_steps());
  uint64_t queued = source_->bytes() + output_.bytes();
  uint64_t held = 0;
  absl::MutexLock lock(&mutex_);
  for (const auto& stage : stages_) {
    queued += stage->input_bytes + stage->window.done_bytes();
    held += stage->held_bytes;
  }
  stats.set_queued_bytes(queued);
  stats.set_held_bytes(held);
  return stats;
}

absl::Status StagedTask::status() const {
  absl::MutexLock lock(&mutex_);
  return status_;
}

bool StagedTask::Idle() const {
  absl::MutexLock lock(&mutex_);
  if (!source_->empty() || !output_.empty()) return false;
  for (const auto& stage : stages_) {
    if (!stage->quiet()) return false;
  }
  return accounting_.AllClosed();
}

void StagedTask::DiscardLocked(size_t stages) {
  source_->Drop();
  for (size_t i = 0; i < stages; ++i) {
    Stage& stage = *stages_[i];
    stage.discards = true;
    stage.input.clear();
    stage.input_bytes = 0;
    stage.input_rows = 0;
    stage.window.Clear();
    if (!stage.strand_busy) {
      stage.state.reset();
      stage.held_bytes = 0;
    }
  }
}

void StagedTask::SatisfyLocked(size_t stage) {
  satisfied_ = true;
  DiscardLocked(stage + 1);
}

void StagedTask::Fail(const absl::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok() || stopping_) return;
    status_ = status;
    DiscardLocked(stages_.size());
  }
  Call(callbacks_.on_failed);
}

}  // namespace headrace
