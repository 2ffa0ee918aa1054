#include "pipeline/udf/keeper.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/clock.h"
#include "common/logging/logging.h"
#include "common/process_stats.h"
#include "common/status.h"
#include "pipeline/udf/block_writer.h"
#include "pipeline/udf/function_group.h"

namespace headrace::udf {
namespace {

constexpr int kSliceMillis = 50;  // between looks at the clock
constexpr int kIdleSliceMillis = 1000;
constexpr absl::Duration kMeasureEvery = absl::Milliseconds(100);
constexpr absl::Duration kKeepUnused = absl::Seconds(30);   // a subprocess without sessions
constexpr absl::Duration kAbandonAfter = absl::Seconds(1);  // work that nobody waits for
constexpr size_t kFlushBytes = 64 << 10;

absl::Duration Now() { return RealClock().Steady(); }

}  // namespace

Keeper::Keeper(FunctionGroup& group)
    : group_(group),
      output_(group.spec().function, group.options().output_level),
      cores_(std::max(1u, std::thread::hardware_concurrency())),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {}

Keeper::~Keeper() {
  RequestStop();
  thread_.join();
  ::close(wake_fd_);
}

void Keeper::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof(one));
}

void Keeper::RequestStop() {
  stop_ = true;
  Wake();
}

void Keeper::Run() {
  cpu_.LapNanos();  // this thread's from here on
  HaveProcess();
  while (!stop_) {
    PostMore();
    // Then the group knows that we idle, and wakes us.
    const bool idle = jobs_.empty();
    Finish();
    if (pieces_.empty()) {
      if (idle) Idle();
      continue;
    }
    Loss loss;
    switch (Await(loss)) {
      case Event::kWoken:
        break;
      case Event::kLost:
        Bury(loss);
        break;
      case Event::kAnswer:
        TakeAnswers();
        break;
    }
  }
  EndProcess();
}

// --- The subprocess.

bool Keeper::HaveProcess() {
  if (process_ != nullptr) return true;
  if (!group_.failure().ok()) return false;
  absl::Status status = Load();
  if (status.ok()) return true;
  EndProcess();
  if (!stop_) group_.Fail(status);
  return false;
}

absl::Status Keeper::Load() {
  const FunctionPoolOptions& options = group_.options();
  HR_ASSIGN_OR_RETURN(process_, PythonProcess::Start(options.python));
  group_.counters().started.fetch_add(1, std::memory_order_relaxed);
  group_.counters().running.fetch_add(1, std::memory_order_relaxed);
  retiring_ = false;
  process_blocks_ = 0;
  const std::string json = SpecJson(group_.spec(), options.path, ::getpid());
  SharedSegment& request = process_->slot(0).request;
  HR_RETURN_IF_ERROR(request.Grow(sizeof(int64_t) + json.size()));
  const auto size = static_cast<int64_t>(json.size());
  std::memcpy(request.data(), &size, sizeof(size));
  std::memcpy(request.data() + sizeof(size), json.data(), json.size());
  const Message load{kLoad, 0, static_cast<int64_t>(options.block_bytes),
                     static_cast<int64_t>(request.size())};
  process_->Send({&load, 1});
  HR_RETURN_IF_ERROR(AwaitLoaded(Now() + options.load_timeout));
  int64_t length = 0;
  std::memcpy(&length, process_->slot(0).answer.data(), sizeof(length));
  if (length == 0) return absl::OkStatus();
  const size_t shown = std::clamp<int64_t>(length, 0, 4096);
  return FailedPrecondition(
      "{}",
      std::string_view(
          reinterpret_cast<const char*>(process_->slot(0).answer.data()) + sizeof(length), shown));
}

absl::Status Keeper::AwaitLoaded(absl::Duration deadline) {
  Loss loss;
  while (!stop_) {
    const std::optional<Event> event = Look(kSliceMillis, loss);
    if (event == Event::kAnswer) {
      messages_.clear();
      return absl::OkStatus();
    }
    if (event == Event::kLost) {
      Drain();
      return FailedPrecondition(
          "{}", output_.WithLastWords(fmt::format("the subprocess of '{}' {} before it was loaded",
                                                  group_.spec().function, process_->Ending())));
    }
    if (Now() > deadline) {
      return FailedPrecondition("'{}' was not loaded within {}; udf_load_timeout limits it",
                                group_.spec().function,
                                absl::FormatDuration(group_.options().load_timeout));
    }
  }
  return Cancelled("the worker stops");
}

void Keeper::EndProcess() {
  if (process_ == nullptr) return;
  Drain();
  process_.reset();
  messages_.clear();
  outbox_.clear();
  outbox_bytes_ = 0;
  group_.counters().running.fetch_sub(1, std::memory_order_relaxed);
}

// --- Handing over.

Job* Keeper::NextWork() {
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (!job->todo.empty()) return job.get();
  }
  if (jobs_.size() >= Depth()) return nullptr;
  std::unique_ptr<Job> job = group_.Take(*this, pieces_.size());
  if (job == nullptr) return nullptr;
  jobs_.push_back(std::move(job));
  return jobs_.back().get();
}

void Keeper::PostMore() {
  if (retiring_) {
    if (!pieces_.empty()) return;
    EndProcess();
    retiring_ = false;
  }
  while (pieces_.size() < Depth()) {
    Job* job = NextWork();
    if (job == nullptr) break;
    if (job->delivery->stopped()) {
      job->todo.clear();
      continue;
    }
    if (!HaveProcess()) {  // the group has failed (or stops), and so does what is here
      job->todo.clear();
      if (const absl::Status why = group_.failure(); !why.ok())
        job->delivery->Deliver(job->done, why);
      job->done = nullptr;
      return;
    }
    Job::Rows rows = std::move(job->todo.front());
    job->todo.pop_front();
    Post(*job, std::move(rows));
    // One message for all of them, for each wakes the subprocess; but it does not wait while much
    // is copied.
    if (outbox_bytes_ > kFlushBytes) Flush();
  }
  Flush();
}

void Keeper::Flush() {
  if (outbox_.empty()) return;
  process_->Send(outbox_);
  // After the sending: who sees this finds the messages.
  AnswerWord(0, kAnswerPosted) = outbox_.back().sequence;
  outbox_.clear();
  outbox_bytes_ = 0;
}

void Keeper::Post(Job& job, Job::Rows rows) {
  Piece piece{&job, std::move(rows), FreeSlot(), ++sequence_, Now()};
  PythonProcess::Slot& slot = process_->slot(piece.slot);
  RequestOptions options;
  options.columns = job.delivery->plan().inputs;
  options.random = group_.spec().random ? &job.delivery->random() : nullptr;
  options.single = job.single;
  options.max_bytes = group_.options().block_bytes;
  const absl::StatusOr<size_t> bytes = WriteRequest(job.block, piece.rows, options, slot.request);
  if (!bytes.ok()) {
    if (piece.rows.size() > 1) {  // in halves
      const auto half = piece.rows.begin() + static_cast<ptrdiff_t>(piece.rows.size() / 2);
      job.todo.emplace_front(half, piece.rows.end());
      job.todo.emplace_front(piece.rows.begin(), half);
    } else {
      job.failed.emplace_back(piece.rows[0], bytes.status());
    }
    return;
  }
  for (size_t word = 0; word < kHeaderWords; ++word) {
    if (word != kAnswerPosted) AnswerWord(piece.slot, word) = 0;
  }
  if (pieces_.empty()) {
    moved_at_ = piece.posted_at;
    seen_progress_ = -1;
  }
  outbox_.push_back({kBlock, static_cast<int64_t>(piece.slot), piece.sequence,
                     static_cast<int64_t>(slot.request.size())});
  outbox_bytes_ += *bytes;
  pieces_.push_back(std::move(piece));
}

size_t Keeper::FreeSlot() const {
  uint64_t taken = 0;
  for (const Piece& piece : pieces_) taken |= uint64_t{1} << piece.slot;
  return static_cast<size_t>(std::countr_one(taken));
}

// --- Waiting.

std::optional<Keeper::Event> Keeper::Look(int millis, Loss& loss) {
  // Under load they are there already.
  const absl::Status early = process_->Receive(messages_);
  if (!messages_.empty()) return Event::kAnswer;
  if (absl::IsDataLoss(early)) {
    loss.why = std::string(early.message());
    loss.lied = true;
    return Event::kLost;
  }
  pollfd fds[] = {{process_->socket(), POLLIN, 0},
                  {wake_fd_, POLLIN, 0},
                  {process_->pid_fd(), POLLIN, 0},
                  {process_->output(), POLLIN, 0}};
  if (::poll(fds, 4, millis) <= 0) return std::nullopt;
  if (fds[3].revents != 0) {
    Drain();
    // Everything that could print has closed its output; poll would not wait any more.
    if ((fds[3].revents & POLLIN) == 0) process_->CloseOutput();
  }
  if (fds[0].revents != 0) {
    const absl::Status received = process_->Receive(messages_);
    if (!messages_.empty()) return Event::kAnswer;
    if (!received.ok()) {
      loss.lied = absl::IsDataLoss(received);
      if (loss.lied) loss.why = std::string(received.message());
      return Event::kLost;
    }
  }
  if (fds[2].revents != 0) return Event::kLost;
  if (fds[1].revents != 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_fd_, &count, sizeof(count));
    return Event::kWoken;
  }
  return std::nullopt;
}

Keeper::Event Keeper::Await(Loss& loss) {
  while (true) {
    if (const std::optional<Event> event = Look(kSliceMillis, loss)) return *event;
    if (Harvest()) return Event::kWoken;
    if (Overdue(loss)) return Event::kLost;
  }
}

bool Keeper::Overdue(Loss& loss) {
  const Piece& piece = pieces_.front();
  const absl::Duration now = Now();
  if (const int64_t progress = Progress(piece); progress != seen_progress_) {
    seen_progress_ = progress;
    moved_at_ = now;
  }
  const FunctionSpec& spec = group_.spec();
  if (now - moved_at_ > spec.timeout) {
    group_.counters().hung.fetch_add(1, std::memory_order_relaxed);
    loss.why = fmt::format("took longer than its timeout, {}", absl::FormatDuration(spec.timeout));
    loss.row_is_known = !spec.batched || piece.job->single;
    return true;
  }
  if (TooLarge(2 * group_.options().memory_bytes)) {
    group_.counters().recycled.fetch_add(1, std::memory_order_relaxed);
    loss.why = fmt::format("took more memory than twice udf_memory_bytes, {}",
                           group_.options().memory_bytes);
    return true;
  }
  if (piece.job->delivery->stopped() && now - moved_at_ > kAbandonAfter) {
    loss.why = "is not wanted any more";
    return true;
  }
  return false;
}

bool Keeper::TooLarge(uint64_t limit) {
  if (Now() - measured_at_ < kMeasureEvery) return false;
  measured_at_ = Now();
  return process_->OwnBytes() > limit;
}

void Keeper::Idle() {
  if (process_ == nullptr) {
    pollfd wake = {wake_fd_, POLLIN, 0};
    ::poll(&wake, 1, kIdleSliceMillis);
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_fd_, &count, sizeof(count));
    return;
  }
  Loss loss;
  const std::optional<Event> event = Look(kIdleSliceMillis, loss);
  // Of harvested blocks it tells late; anything else that it says now is no answer.
  const bool late = std::all_of(messages_.begin(), messages_.end(),
                                [this](const Message& message) { return Late(message); });
  messages_.clear();
  const bool unused = !event && group_.Unused(kKeepUnused);
  if (unused || event == Event::kLost || !late) EndProcess();
}

volatile int64_t& Keeper::AnswerWord(size_t slot, size_t word) const {
  return reinterpret_cast<volatile int64_t*>(process_->slot(slot).answer.data())[word];
}

int64_t Keeper::Progress(const Piece& piece) const {
  if (AnswerWord(piece.slot, kAnswerSequence) != piece.sequence) return -1;
  return AnswerWord(piece.slot, kAnswerProgress);
}

// --- What came back.

void Keeper::TakeAnswers() {
  const std::vector<Message> messages = std::exchange(messages_, {});
  const absl::Duration each = (Now() - moved_at_) / static_cast<int64_t>(messages.size());
  block_time_ += (each - block_time_) / 8;
  for (const Message& message : messages) {
    if (Late(message)) continue;
    const absl::Status status =
        pieces_.empty() ? DataLoss("an answer to nothing") : TakeAnswer(message);
    if (status.ok()) continue;
    group_.counters().refused.fetch_add(1, std::memory_order_relaxed);
    Loss loss;
    loss.why = fmt::format("wrote what is no answer: {}", std::string(status.message()));
    loss.lied = true;
    return Bury(loss);
  }
  // All that this thread did since it took answers the last time.
  if (!jobs_.empty()) jobs_.front()->cpu_nanos += static_cast<uint64_t>(cpu_.LapNanos());
}

bool Keeper::Harvest() {
  bool any = false;
  while (process_ != nullptr && !pieces_.empty()) {
    const Piece& piece = pieces_.front();
    if (AnswerWord(piece.slot, kAnswerMark) != 1 ||
        AnswerWord(piece.slot, kAnswerSequence) != piece.sequence) {
      break;
    }
    // After the look at the mark: what the function did, it did before that was set.
    if (!process_->Connected()) break;
    const int64_t sequence = piece.sequence;
    const Message told{kBlock, static_cast<int64_t>(piece.slot), sequence,
                       AnswerWord(piece.slot, kAnswerUsedBytes)};
    if (!TakeAnswer(told).ok()) break;
    harvested_ = sequence;
    any = true;
  }
  return any;
}

absl::Status Keeper::TakeAnswer(const Message& message) {
  Piece& piece = pieces_.front();
  if (message.operation != kBlock || message.slot != static_cast<int64_t>(piece.slot) ||
      message.sequence != piece.sequence || message.bytes <= 0) {
    return DataLoss("a message about block {}, at work is {}", message.sequence, piece.sequence);
  }
  Job& job = *piece.job;
  SharedSegment& memory = process_->slot(piece.slot).answer;
  HR_RETURN_IF_ERROR(memory.Follow(static_cast<size_t>(message.bytes),
                                   static_cast<size_t>(group_.options().block_bytes)));
  HR_ASSIGN_OR_RETURN(Answer answer, ReadAnswer({memory.data(), memory.size()}, group_.spec(),
                                                piece.rows.size(), job.block.arena()));
  const absl::Duration now = Now();
  // What it says that it cost can be no more than all cores could spend.
  const auto most = static_cast<uint64_t>(absl::ToInt64Nanoseconds(now - piece.posted_at)) * cores_;
  job.cpu_nanos += std::min(answer.cpu_nanos, most);
  moved_at_ = now;
  seen_progress_ = -1;
  job.answered.emplace_back(std::move(piece.rows), std::move(answer));
  pieces_.pop_front();
  ++process_blocks_;
  group_.counters().blocks.fetch_add(1, std::memory_order_relaxed);
  if (!retiring_ && TooLarge(group_.options().memory_bytes)) {
    group_.counters().recycled.fetch_add(1, std::memory_order_relaxed);
    LogWarning("python {} [{}]: has {} bytes after {} blocks, over udf_memory_bytes, {}: replaced",
               group_.spec().function, process_->pid(), process_->OwnBytes(), process_blocks_,
               group_.options().memory_bytes);
    retiring_ = true;
  }
  return absl::OkStatus();
}

void Keeper::Finish() {
  std::erase_if(jobs_, [this](std::unique_ptr<Job>& job) {
    if (!job->todo.empty()) return false;
    for (const Piece& piece : pieces_) {
      if (piece.job == job.get()) return false;
    }
    if (job->done != nullptr && !job->delivery->stopped())
      job->delivery->Deliver(job->done, Assemble(*job, group_.spec()));
    return true;
  });
}

}  // namespace headrace::udf
