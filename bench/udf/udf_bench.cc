// What it costs to hand blocks to Python functions in subprocesses, and how they scale:
// bench_udf [ROUNDS [hand-off]]. One JSON line: per-block microseconds of functions that do
// nothing, and blocks/s of one that computes, with one and two subprocesses; an entry per round,
// interleaved with what bounds them: a bare ping-pong of messages between two processes, and Python
// processes that compute the same and are handed nothing.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "pipeline/udf/function_pool.h"
#include "pipeline/udf/job.h"

namespace headrace {
namespace {

constexpr size_t kBurntRows = 8;  // in a block of the function that computes
constexpr char kModule[] = R"(
def same(batch):
    return batch

def fresh(batch):
    return {"x": batch["x"] + 1}

def each(record):
    return record

def burn(record):
    total = 0
    for i in range(3000):
        total += i * i
    return record
)";

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_udf: %s\n", status.ToString().c_str());
  std::exit(1);
}

Block MakeBlock(const SchemaPtr& schema, size_t rows, size_t items) {
  Block block(schema);
  const std::vector<float> values(items, 1.5f);
  for (size_t row = 0; row < rows; ++row) {
    const Cell cell = MakeCell<float>(block.arena(), std::span<const float>(values),
                                      Shape{static_cast<int64_t>(items)});
    block.AppendRow({RunOf({.split = 0, .index = row})}, std::span(&cell, 1));
  }
  return block;
}

// One function with its subprocesses.
class Bench {
 public:
  Bench(const std::string& directory, const std::string& function, size_t processes, size_t items)
      : schema_(std::make_shared<const Schema>(
            Schema({{"x", DType::kFloat32, Shape{static_cast<int64_t>(items)}}}))),
        items_(items),
        pool_(Options(directory, processes)) {
    FunctionSpec spec;
    spec.function = "bench_functions:" + function;
    spec.batched = function == "same" || function == "fresh";
    auto plan = udf::ColumnPlan::Make(*schema_, {}, spec);
    Check(plan.status());
    auto session =
        pool_.Open(spec, std::make_shared<const udf::ColumnPlan>(*std::move(plan)), StepContext());
    Check(session.status());
    session_ = *std::move(session);
    Seconds(40 * processes, 8);  // starts and warms all of them
  }
  ~Bench() { session_->Stop(); }

  // Of `blocks` blocks of `rows` rows, at most `under_way` of them at a time; 0: as many as the
  // engine has.
  double Seconds(size_t blocks, size_t rows, size_t under_way = 0) {
    if (under_way == 0) under_way = 2 * session_->width() + 2;
    std::vector<Block> made;
    for (size_t i = 0; i < blocks; ++i) made.push_back(MakeBlock(schema_, rows, items_));
    const absl::Time start = absl::Now();
    for (Block& block : made) {
      {
        absl::MutexLock lock(&mutex_);
        // Then several at once: what wakes this thread is not what is measured.
        if (running_ == under_way) AwaitRunning(under_way / 2);
        ++running_;
      }
      session_->Start(std::move(block), [this](absl::StatusOr<AsyncResult> result) {
        Check(result.status());
        if (!result->block.failures().empty()) Check(result->block.failures()[0].status);
        absl::MutexLock lock(&mutex_);
        cpu_nanos_ += result->cpu_nanos;
        --running_;
      });
    }
    absl::MutexLock lock(&mutex_);
    AwaitRunning(0);
    return absl::ToDoubleSeconds(absl::Now() - start);
  }

  // Both sides' CPU time since the last call, the function's own included.
  double TakeCpuSeconds() {
    absl::MutexLock lock(&mutex_);
    return 1e-9 * static_cast<double>(std::exchange(cpu_nanos_, 0));
  }

 private:
  static FunctionPoolOptions Options(const std::string& directory, size_t processes) {
    FunctionPoolOptions options;
    options.mode = FunctionMode::kImport;
    options.python = HEADRACE_TEST_PYTHON;
    options.path = {directory};
    options.processes = processes;
    return options;
  }
  void AwaitRunning(size_t most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto few = [this, most] {
      mutex_.AssertReaderHeld();
      return running_ <= most;
    };
    mutex_.Await(absl::Condition(&few));
  }

  const SchemaPtr schema_;
  const size_t items_;
  FunctionPool pool_;
  std::unique_ptr<AsyncSession> session_;
  absl::Mutex mutex_;
  size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t cpu_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Two processes that send each other one message at a time, and do nothing else: what a block that
// is alone cannot do without.
class PingPong {
 public:
  PingPong() {
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets_) != 0)
      Check(absl::InternalError("socketpair"));
    child_ = ::fork();
    if (child_ != 0) return;
    char message[32];
    ::close(sockets_[0]);
    while (::read(sockets_[1], message, sizeof(message)) == sizeof(message)) {
      if (::write(sockets_[1], message, sizeof(message)) < 0) break;
    }
    ::_exit(0);
  }
  ~PingPong() {
    ::close(sockets_[0]);
    ::close(sockets_[1]);
    ::waitpid(child_, nullptr, 0);
  }

  double Seconds(size_t trips) {
    char message[32] = {};
    const absl::Time start = absl::Now();
    for (size_t i = 0; i < trips; ++i) {
      if (::write(sockets_[0], message, sizeof(message)) < 0 ||
          ::read(sockets_[0], message, sizeof(message)) < 0) {
        Check(absl::InternalError("ping-pong"));
      }
    }
    return absl::ToDoubleSeconds(absl::Now() - start);
  }

 private:
  int sockets_[2];
  pid_t child_ = -1;
};

// A Python process that computes as many blocks as it is told, none of them handed over.
class BareProcess {
 public:
  explicit BareProcess(const std::string& directory) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
      Check(absl::InternalError("pipe"));
    const std::string script = fmt::format(
        "import sys; sys.path.insert(0, '{}'); from bench_functions import burn\n"
        "for line in sys.stdin:\n"
        "    for i in range({} * int(line)): burn(i)\n"
        "    print(flush=True)\n",
        directory, kBurntRows);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      ::execlp(HEADRACE_TEST_PYTHON, HEADRACE_TEST_PYTHON, "-c", script.c_str(), nullptr);
      ::_exit(1);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
    Start(1);
    Await();
  }
  ~BareProcess() {
    ::close(to_);
    ::close(from_);
    ::waitpid(child_, nullptr, 0);
  }

  void Start(size_t blocks) {
    const std::string line = fmt::format("{}\n", blocks);
    if (::write(to_, line.data(), line.size()) < 0) Check(absl::InternalError("bare process"));
  }
  void Await() {
    char done;
    if (::read(from_, &done, 1) != 1) Check(absl::InternalError("bare process"));
  }

 private:
  pid_t child_ = -1;
  int to_ = -1;
  int from_ = -1;
};

double BareSeconds(const std::vector<BareProcess*>& processes, size_t blocks) {
  const absl::Time start = absl::Now();
  for (BareProcess* process : processes) process->Start(blocks / processes.size());
  for (BareProcess* process : processes) process->Await();
  return absl::ToDoubleSeconds(absl::Now() - start);
}

void Measure(int rounds, bool hand_off_only, const std::string& directory) {
  // These fork: before there are threads.
  PingPong ping_pong;
  BareProcess first(directory), second(directory);
  Bench same(directory, "same", 1, 16), fresh(directory, "fresh", 1, 16);
  Bench large(directory, "fresh", 1, 4096), each(directory, "each", 1, 16);
  Bench one(directory, "burn", 1, 16), two(directory, "burn", 2, 16);
  nlohmann::ordered_json out;
  const auto micros = [](double seconds, size_t blocks) {
    return 1e6 * seconds / static_cast<double>(blocks);
  };
  constexpr size_t kComputed = 400;  // blocks of the function that computes
  for (int round = 0; round < rounds; ++round) {
    same.TakeCpuSeconds();
    out["same_us"].push_back(micros(same.Seconds(4000, 64), 4000));
    out["same_cpu_us"].push_back(micros(same.TakeCpuSeconds(), 4000));
    fresh.TakeCpuSeconds();
    out["fresh_us"].push_back(micros(fresh.Seconds(4000, 64), 4000));
    out["fresh_cpu_us"].push_back(micros(fresh.TakeCpuSeconds(), 4000));
    if (hand_off_only) continue;
    out["one_at_a_time_us"].push_back(micros(same.Seconds(2000, 64, 1), 2000));
    out["ping_pong_us"].push_back(micros(ping_pong.Seconds(2000), 2000));
    out["megabyte_us"].push_back(micros(large.Seconds(300, 64, 4), 300));
    out["record_us"].push_back(micros(each.Seconds(300, 256), 300 * 256));
    one.TakeCpuSeconds();
    out["one_process"].push_back(kComputed / one.Seconds(kComputed, kBurntRows));
    out["one_cpu_us"].push_back(micros(one.TakeCpuSeconds(), kComputed));
    two.TakeCpuSeconds();
    out["two_processes"].push_back(kComputed / two.Seconds(kComputed, kBurntRows));
    out["two_cpu_us"].push_back(micros(two.TakeCpuSeconds(), kComputed));
    out["one_bare"].push_back(kComputed / BareSeconds({&first}, kComputed));
    out["two_bare"].push_back(kComputed / BareSeconds({&first, &second}, kComputed));
  }
  std::printf("%s\n", out.dump().c_str());
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  char directory[] = "/tmp/headrace-bench-udf-XXXXXX";
  if (::mkdtemp(directory) == nullptr) return 1;
  std::ofstream(std::string(directory) + "/bench_functions.py") << headrace::kModule;
  headrace::Measure(argc > 1 ? std::atoi(argv[1]) : 5, argc > 2, directory);
  return ::system(("rm -rf " + std::string(directory)).c_str()) == 0 ? 0 : 1;
}
