// A damaged journal gives the state of its last whole record, or is refused: never another state.
// Real files that the driver wrote under a dispatcher, cut at every byte of the last records, bytes
// flipped, files taken away.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "dispatcher/journal/file_journal.h"
#include "dispatcher/state/state.h"
#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteFile(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class JournalDamageTest : public DispatcherBed {
 protected:
  JournalDamageTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    base_ = fs::path(testing::TempDir()) /
            fmt::format("damage_{}_{}", info->name(), static_cast<long>(getpid()));
    fs::remove_all(base_);
  }
  ~JournalDamageTest() override {
    service = nullptr;
    fs::remove_all(base_);
  }
  fs::path whole() const { return base_ / "whole"; }
  fs::path copy() const { return base_ / "copy"; }

  void Restart() override {
    service = nullptr;
    file_ = nullptr;
    auto opened = FileJournal::Open({whole().string(), MiB(64)}, journal_metrics_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    file_ = *std::move(opened);
    service = std::make_unique<DispatcherService>(
        config, DispatcherService::Deps{file_.get(), &resolver, &clock, nullptr, 77});
    ASSERT_TRUE(service->Recover().ok());
  }
  void Stop() {
    service = nullptr;
    file_ = nullptr;
  }

  // The log that the store writes now, and its size.
  fs::path Log() const {
    fs::path log;
    for (const auto& entry : fs::directory_iterator(whole() / "store")) {
      if (entry.path().extension() == ".log" && entry.path() > log) log = entry.path();
    }
    return log;
  }
  // Remembers the state and where the log ends.
  void Mark() {
    dumps_.push_back(service->Dump());
    sizes_.push_back(fs::file_size(Log()));
  }

  // A dispatcher's life: a job, leases, reports, deliveries; each call one record of the log.
  void Live(int rounds) {
    TestWorker worker = AddWorker(fmt::format("w:{}", rounds));
    TestClient client = Open(fmt::format("job-{}", rounds));
    ASSERT_TRUE(Start(client).ok());
    const uint64_t task = TasksOf(worker).at(0);
    Mark();
    for (int i = 1; i <= rounds; ++i) {
      const v1::LeaseSplitsReply leased = LeaseOnce(worker, task, static_cast<uint64_t>(i));
      Mark();
      for (const v1::Lease& lease : leased.leases()) {
        ReportOnce(worker, ReadToEnd(task, lease, 9, {MakeRun(lease.split().id(), 8, 1)}));
        Mark();
        DeliverOnce(client, task,
                    {MakeRun(lease.split().id(), 0, 3), MakeRun(lease.split().id(), 5, 1)});
        Mark();
      }
    }
  }

  // Each call once: one record of the log.
  v1::LeaseSplitsReply LeaseOnce(const TestWorker& worker, uint64_t task, uint64_t number) {
    v1::LeaseSplitsRequest request;
    request.set_worker(worker.id);
    request.set_task(task);
    request.set_request_number(number);
    request.set_want(2);
    return service->LeaseSplits(request).value();
  }
  void ReportOnce(const TestWorker& worker, const v1::SplitReport& report) {
    v1::WorkerBeatRequest request;
    request.set_worker(worker.id);
    request.set_worker_uid(worker.uid);
    *request.add_splits() = report;
    ASSERT_TRUE(service->WorkerBeat(request).ok());
  }
  void DeliverOnce(const TestClient& client, uint64_t task, std::vector<v1::Run> runs) {
    v1::ClientBeatRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_epoch(client.epoch);
    v1::TaskRuns& delivered = *request.add_delivered();
    delivered.set_task(task);
    delivered.mutable_runs()->Assign(runs.begin(), runs.end());
    ASSERT_TRUE(service->ClientBeat(request).ok());
  }

  void MakeCopy(bool with_mark) {
    fs::remove_all(copy());
    fs::copy(whole(), copy(), fs::copy_options::recursive);
    if (!with_mark) fs::remove(copy() / "durable");
  }
  // What a dispatcher over the copy has; an error when it refuses it.
  absl::StatusOr<std::string> StateOfCopy() {
    auto journal = FileJournal::Open({copy().string(), MiB(64)}, journal_metrics_);
    if (!journal.ok()) return journal.status();
    dispatch::State state;
    const absl::Status status =
        (*journal)->Replay({[&](std::string_view chunk) { return state.Reload(chunk); },
                            [&](const v1::Event& event) { return state.Apply(event); }});
    if (!status.ok()) return status;
    return state.Dump();
  }
  // A refusal says where and what to do.
  static void ExpectClear(const absl::Status& status) {
    EXPECT_THAT(status.ToString(), testing::HasSubstr("copy")) << status;
  }
  fs::path LogOfCopy() const { return copy() / "store" / Log().filename(); }

  fs::path base_;
  Metrics metrics_{"dispatcher"};
  JournalMetrics journal_metrics_{metrics_};
  std::unique_ptr<FileJournal> file_;
  std::vector<std::string> dumps_;
  std::vector<uintmax_t> sizes_;
};

TEST_F(JournalDamageTest, CutAnywhereInTheLastRecordsItHoldsTheLastWholeOne) {
  Use({.splits = 40});
  Live(4);
  Stop();
  const size_t last = sizes_.size() - 1;
  size_t refused = 0;
  for (uintmax_t size = sizes_[last - 3]; size <= sizes_[last]; ++size) {
    SCOPED_TRACE(size);
    size_t whole_records = last;
    while (sizes_[whole_records] > size) --whole_records;
    // The write was never acknowledged: the mark does not speak of it.
    MakeCopy(/*with_mark=*/false);
    fs::resize_file(LogOfCopy(), size);
    auto state = StateOfCopy();
    ASSERT_TRUE(state.ok()) << state.status();
    ASSERT_EQ(*state, dumps_[whole_records]);
    // And it is good from then on.
    if (size % 16 == 0) {
      state = StateOfCopy();
      ASSERT_TRUE(state.ok()) << state.status();
      ASSERT_EQ(*state, dumps_[whole_records]);
    }
    // It was acknowledged, and is gone.
    if (size % 4 != 0 && size != sizes_[last]) continue;
    MakeCopy(/*with_mark=*/true);
    fs::resize_file(LogOfCopy(), size);
    state = StateOfCopy();
    if (size == sizes_[last]) {
      ASSERT_TRUE(state.ok()) << state.status();
      continue;
    }
    ++refused;
    ASSERT_EQ(state.status().code(), absl::StatusCode::kDataLoss) << state.status();
    ExpectClear(state.status());
  }
  EXPECT_GT(refused, 10u);
}

TEST_F(JournalDamageTest, AFlippedByteIsRefusedOrHarmless) {
  Use({.splits = 40});
  Live(3);
  Stop();
  const size_t last = sizes_.size() - 1;
  const std::string log = ReadFile(Log());
  size_t refused = 0;
  const auto flip = [&](size_t at, char bits, bool with_mark) {
    SCOPED_TRACE(fmt::format("byte {} bits {} mark {}", at, static_cast<int>(bits), with_mark));
    MakeCopy(with_mark);
    std::string damaged = log;
    damaged[at] = static_cast<char>(damaged[at] ^ bits);
    WriteFile(LogOfCopy(), damaged);
    const auto state = StateOfCopy();
    if (!state.ok()) {
      ++refused;
      ExpectClear(state.status());
    } else if (with_mark) {
      ASSERT_EQ(*state, dumps_.back());
    } else {
      // Without the mark a damaged length is a torn tail: an earlier state, but a true one.
      ASSERT_THAT(dumps_, testing::Contains(*state));
    }
  };
  std::mt19937 random(1);
  for (size_t at = sizes_[last - 3]; at < log.size(); ++at) {
    flip(at, static_cast<char>(1 << random() % 8), /*with_mark=*/true);
    if (HasFatalFailure()) return;
  }
  for (int i = 0; i < 150; ++i) {
    flip(random() % log.size(), static_cast<char>(1 + random() % 255), random() % 2 == 0);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(refused, 100u);
}

TEST_F(JournalDamageTest, SnapshotsAskedForAtOnceComeOneAfterTheOther) {
  Use({.splits = 30});
  Live(3);
  const std::string end = service->Dump();
  std::vector<std::thread> askers;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([&] {
      for (int k = 0; k < 5; ++k) failed += service->Compact().ok() ? 0 : 1;
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(failed, 0);
  Restart();
  EXPECT_EQ(service->Dump(), end);
}

// With a snapshot, files of events, several lives.
TEST_F(JournalDamageTest, DamageInAnyFileIsRefusedOrHarmless) {
  Use({.splits = 30});
  Live(3);
  ASSERT_TRUE(service->Compact().ok());
  Live(2);
  Restart();
  Live(1);
  const std::string end = service->Dump();
  Stop();
  std::mt19937 random(2);
  size_t refused = 0;
  size_t files = 0;
  const auto judge = [&](const fs::path& file, std::string_view how) {
    const auto state = StateOfCopy();
    if (!state.ok()) {
      ++refused;
      ExpectClear(state.status());
    } else {
      ASSERT_EQ(*state, end) << file << " " << how;
    }
  };
  for (const auto& entry : fs::recursive_directory_iterator(whole())) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const fs::path file = fs::relative(entry.path(), whole());
    const std::string bytes = ReadFile(entry.path());
    MakeCopy(/*with_mark=*/true);
    fs::remove(copy() / file);
    judge(file, "removed");
    if (HasFatalFailure()) return;
    for (int i = 0; i < 40 && !bytes.empty(); ++i) {
      MakeCopy(/*with_mark=*/true);
      std::string damaged = bytes;
      const size_t at = random() % bytes.size();
      if (i % 4 == 0) {
        damaged.resize(at);
      } else {
        damaged[at] = static_cast<char>(damaged[at] ^ (1 + random() % 255));
      }
      WriteFile(copy() / file, damaged);
      judge(file, fmt::format("{} at {}", i % 4 == 0 ? "cut" : "flipped", at));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(files, 5u);
  EXPECT_GT(refused, 50u);
}

}  // namespace
}  // namespace headrace
