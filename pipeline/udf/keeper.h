// Keeps one subprocess at work: hands it blocks ahead of need so that it never waits, reads its
// answers, watches its time and memory, replaces it, and finds the record that ended it. Owned by
// its group; everything runs on a thread of its own, but Wake() and RequestStop().
//
// What a subprocess did to a block is never lost and never doubled: a block's rows are either
// answered, failed by name, or still to be done by the next subprocess.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/process_stats.h"
#include "pipeline/udf/job.h"
#include "pipeline/udf/output_log.h"
#include "pipeline/udf/python_process.h"

namespace headrace::udf {

class FunctionGroup;

class Keeper {
 public:
  explicit Keeper(FunctionGroup& group);
  ~Keeper();  // joins
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // There may be a job to take. Any thread.
  void Wake();
  void RequestStop();

 private:
  // Rows of a job that the subprocess has; answered in the order in which they were handed over.
  struct Piece {
    Job* job = nullptr;
    Job::Rows rows;
    size_t slot = 0;
    int64_t sequence = 0;
    absl::Duration posted_at = absl::ZeroDuration();
  };
  static constexpr absl::Duration kQuickBlock = absl::Microseconds(150);
  // Why a subprocess is no more.
  struct Loss {
    std::string why;
    bool by_itself = false;
    bool row_is_known = false;  // its progress tells the row for sure enough
    bool lied = false;          // said what cannot be: nothing more of it is believed
    bool alone = false;         // a fresh process that had nothing but one row
  };
  enum class Event { kAnswer, kLost, kWoken };

  void Run();
  // A loaded subprocess; false when there can be none.
  bool HaveProcess();
  absl::Status Load();
  absl::Status AwaitLoaded(absl::Duration deadline);

  // Hands over what there is room for.
  void PostMore();
  // The next rows to hand over, in `job`; null: none.
  Job* NextWork();
  void Post(Job& job, Job::Rows rows);
  size_t FreeSlot() const;
  // Tells the subprocess of what was posted.
  void Flush();
  // How many blocks it should have: two, or as many as can be when each takes no longer than a
  // wake-up, which several then share. More would only wait here while another subprocess idles.
  // And one while it is to be found out which record ends processes: what is told late, or lies
  // behind it, would blur that.
  size_t Depth() const {
    for (const std::unique_ptr<Job>& job : jobs_) {
      if (job->kills > 0) return 1;
    }
    return block_time_ < kQuickBlock ? kSlots : 2;
  }
  Event Await(Loss& loss);
  // What poll() found, and what the clock says. Nothing: wait on.
  std::optional<Event> Look(int millis, Loss& loss);
  bool Overdue(Loss& loss);
  bool TooLarge(uint64_t limit);
  void Idle();
  // Reads the answers that have come; one that is none ends the subprocess.
  void TakeAnswers();
  absl::Status TakeAnswer(const Message& message);
  // Takes what is answered and was not told of yet, before anybody is blamed for it; but only from
  // a process that can still tell: of one that ended, or cut itself off, nothing more is believed.
  // Else what becomes of its rows would hang on when that was seen. True: there was something.
  bool Harvest();
  // It tells of what was harvested.
  bool Late(const Message& message) const {
    return message.operation == kBlock && message.sequence > 0 && message.sequence <= harvested_;
  }
  void Bury(const Loss& loss);
  // The piece that the subprocess died over: fails a row, or narrows down which one it was.
  void Blame(Piece piece, const Loss& loss);
  void EndProcess();
  // Jobs that are through go back to the engine.
  void Finish();
  // Of a slot's answer, as it is at any time.
  volatile int64_t& AnswerWord(size_t slot, size_t word) const;
  int64_t Progress(const Piece& piece) const;
  void Drain() { output_.Take(*process_); }

  FunctionGroup& group_;
  std::unique_ptr<PythonProcess> process_;
  OutputLog output_;
  const uint64_t cores_;
  CpuTimer cpu_;                           // of the thread
  std::deque<std::unique_ptr<Job>> jobs_;  // taken, oldest first; at most kSlots
  std::deque<Piece> pieces_;               // handed over, oldest first; at most kSlots
  std::vector<Message> messages_;          // received and not yet looked at
  std::vector<Message> outbox_;            // posted, and the subprocess was not told yet
  size_t outbox_bytes_ = 0;                // of their requests
  int64_t sequence_ = 0;
  int64_t harvested_ = 0;                              // the last sequence that was not told of
  absl::Duration block_time_ = absl::Milliseconds(1);  // of late, from answer to answer
  int64_t seen_progress_ = -1;
  absl::Duration moved_at_;     // when the subprocess last got on
  absl::Duration measured_at_;  // when its memory was looked at
  absl::Duration idle_since_;
  uint64_t process_blocks_ = 0;  // of this subprocess
  bool retiring_ = false;        // gets no more work: too large
  const int wake_fd_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last
};

}  // namespace headrace::udf
