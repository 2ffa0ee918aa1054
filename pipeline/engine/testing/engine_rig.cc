#include "pipeline/engine/testing/engine_rig.h"

#include <algorithm>

#include "common/status.h"
#include "gtest/gtest.h"

namespace headrace::testing_engine {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);

class CountingReader final : public RecordReader {
 public:
  CountingReader(const CountingFormat::Options& options, const v1::Split& split)
      : options_(options), split_(split.id()), end_(split.end()) {}

  absl::StatusOr<bool> Read(const ReadLimits& limits, Block& block) override {
    if (options_.before_read) HR_RETURN_IF_ERROR(options_.before_read(split_));
    const std::string pad(options_.pad_bytes, 'p');
    for (size_t rows = 0; next_ < end_ && rows < limits.max_rows; ++next_, ++rows) {
      const headrace::Run run{.split = split_, .first = next_, .count = 1};
      if (options_.blank && options_.blank(split_, next_)) {
        AppendRun(block.settled(), run);
      } else if (options_.damaged && options_.damaged(split_, next_)) {
        block.FailRecord(
            run, DataLoss("split-{}: offset {}: record {}: damaged", split_, next_ * 8, next_));
      } else {
        const Cell cells[] = {MakeScalarCell<int64_t>(
                                  block.arena(), static_cast<int64_t>(split_ * 1'000'000 + next_)),
                              MakeBytesCell(block.arena(), pad)};
        block.AppendRow({run}, cells);
      }
      if (block.bytes() >= limits.max_bytes) {
        ++next_;
        break;
      }
    }
    return next_ < end_;
  }

 private:
  const CountingFormat::Options& options_;
  const uint64_t split_;
  const uint64_t end_;
  uint64_t next_ = 0;
};

}  // namespace

Schema CountingFormat::RecordSchema() {
  return Schema({{"x", DType::kInt64, Shape()}, {"pad", DType::kBytes, Shape()}});
}

absl::StatusOr<std::unique_ptr<RecordReader>> CountingFormat::Open(FileSystem&,
                                                                   const v1::Split& split,
                                                                   SchemaPtr) {
  return std::make_unique<CountingReader>(options_, split);
}

v1::Split MakeSplit(uint64_t id, uint64_t records) {
  v1::Split split;
  split.set_id(id);
  split.set_path(fmt::format("split-{}", id));
  split.set_end(records);
  return split;
}

v1::Lease MakeLease(uint64_t number, uint64_t split, uint64_t records, uint32_t pass) {
  v1::Lease lease;
  lease.set_number(number);
  *lease.mutable_split() = MakeSplit(split, records);
  lease.set_pass(pass);
  return lease;
}

void Gate::Open() {
  absl::MutexLock lock(&mutex_);
  open_ = true;
}

void Gate::Wait() {
  absl::MutexLock lock(&mutex_);
  ++arrived_;
  EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&open_), kPatience))
      << "a gate was never opened";
}

void Gate::AwaitArrivals(int count) {
  absl::MutexLock lock(&mutex_);
  const auto arrived = [&] { return arrived_ >= count; };
  EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&arrived), kPatience))
      << "only " << arrived_ << " arrived";
}

void AddRun(const Run& run, Census& census) {
  for (uint64_t i = 0; i < run.count; ++i) ++census[{run.split, run.first + i, run.part, run.pass}];
}

void AddRun(const v1::Run& run, Census& census) {
  for (uint64_t i = 0; i < run.count(); ++i)
    ++census[{run.split(), run.first() + i, run.part(), run.pass()}];
}

std::vector<int64_t> Outcome::values() const {
  std::vector<int64_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

Census Outcome::output() const {
  Census census;
  for (const Provenance& runs : provenance) {
    for (const Run& run : runs) AddRun(run, census);
  }
  return census;
}

Census Outcome::settled() const {
  Census census;
  for (const v1::SplitReport& report : reports) {
    for (const v1::Run& run : report.settled()) AddRun(run, census);
  }
  return census;
}

uint64_t Outcome::failed() const {
  uint64_t failed = 0;
  for (const v1::SplitReport& report : reports) failed += report.failed();
  return failed;
}

v1::SplitReport Outcome::EndOf(uint64_t lease) const {
  for (auto report = reports.rbegin(); report != reports.rend(); ++report) {
    if (report->lease() == lease && (report->read_to_end() || report->abandoned())) return *report;
  }
  ADD_FAILURE() << "no last report of lease " << lease;
  return {};
}

Rig::Rig(Options options) {
  RegisterAll_ops(ops_);
  RegisterTestOps(ops_, std::make_shared<const TestHooks>(std::move(options.hooks)));
  v1::PipelineDef def;
  def.set_name("test");
  def.set_seed(options.seed);
  for (v1::Step& step : options.steps) *def.add_steps() = std::move(step);
  absl::StatusOr<Graph> graph = Graph::Build(def, CountingFormat::RecordSchema(), ops_);
  EXPECT_TRUE(graph.ok()) << graph.status();
  compute_ = std::make_unique<ComputePool>(
      ComputePool::Options{.threads = options.threads, .cpu = options.cpu});
  io_ = std::make_unique<IoPool>(options.io_threads);
  TaskDeps deps;
  deps.compute = compute_.get();
  deps.io = io_.get();
  deps.cpu = options.cpu;
  deps.files = NewLocalFileSystem();
  deps.memory = options.memory;
  deps.cache = options.cache;
  deps.format = std::make_shared<CountingFormat>(std::move(options.format));
  deps.graph = std::make_shared<const Graph>(*std::move(graph));
  TaskCallbacks callbacks;
  callbacks.on_output = [this] { Changed(); };
  callbacks.on_report = [this] { Changed(); };
  callbacks.on_failed = [this] { Changed(); };
  callbacks.on_want_leases = [this] {
    absl::MutexLock lock(&mutex_);
    ++want_calls_;
  };
  absl::StatusOr<std::unique_ptr<Task>> task =
      Task::Create(std::move(deps), options.task, std::move(callbacks));
  EXPECT_TRUE(task.ok()) << task.status();
  task_ = *std::move(task);
}

Rig::~Rig() { task_.reset(); }

void Rig::Changed() {
  absl::MutexLock lock(&mutex_);
  ++changes_;
}

int Rig::want_calls() const {
  absl::MutexLock lock(&mutex_);
  return want_calls_;
}

void Rig::TakeAll(Outcome& out) {
  while (std::optional<Block> block = task_->output().TryPop()) {
    out.largest_block_rows = std::max(out.largest_block_rows, block->rows());
    const size_t x = block->schema().Find("x");
    for (size_t row = 0; row < block->rows(); ++row) {
      const auto values = block->column(x)[row].as<int64_t>();
      out.rows.emplace_back(values.begin(), values.end());
      out.provenance.push_back(block->provenance(row));
    }
  }
  for (v1::SplitReport& report : task_->TakeReports()) out.reports.push_back(std::move(report));
}

void Rig::CollectUntil(const std::function<bool()>& done, Outcome& out) {
  while (true) {
    uint64_t seen = 0;
    {
      absl::MutexLock lock(&mutex_);
      seen = changes_;
    }
    TakeAll(out);
    if (done()) return;
    absl::MutexLock lock(&mutex_);
    const auto changed = [&] { return changes_ != seen; };
    // The last unit of work may end right after its callback: look again soon.
    const absl::Duration wait = absl::Milliseconds(2);
    for (int looks = 0; !mutex_.AwaitWithTimeout(absl::Condition(&changed), wait); ++looks) {
      mutex_.Unlock();
      const bool over = done();
      mutex_.Lock();
      if (over) return;
      if (looks * wait > kPatience) {
        ADD_FAILURE() << "nothing came for ten seconds";
        return;
      }
    }
  }
}

Outcome Rig::Collect() {
  Outcome out;
  CollectUntil([this] { return task_->Idle() || !task_->status().ok(); }, out);
  TakeAll(out);
  return out;
}

Outcome Rig::RunSplits(const std::vector<uint64_t>& records) {
  for (size_t i = 0; i < records.size(); ++i) {
    const absl::Status added = task_->AddLease(MakeLease(i + 1, i + 1, records[i]));
    EXPECT_TRUE(added.ok()) << added;
  }
  task_->NoMoreLeases();
  return Collect();
}

absl::Status Rig::AwaitFailure() {
  Outcome out;
  CollectUntil([this] { return !task_->status().ok(); }, out);
  return task_->status();
}

}  // namespace headrace::testing_engine
