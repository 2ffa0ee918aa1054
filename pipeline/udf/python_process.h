// One Python subprocess with its socket and shared memory. Owned by one keeper's thread, which must
// live as long: the kernel ends the process with the thread that started it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/udf/shared_segment.h"
#include "pipeline/udf/words.h"

namespace headrace::udf {

class PythonProcess {
 public:
  struct Slot {
    SharedSegment request;
    SharedSegment answer;
  };

  // Starts `python` on the host script. FAILED_PRECONDITION: no such interpreter.
  static absl::StatusOr<std::unique_ptr<PythonProcess>> Start(const std::string& python);
  ~PythonProcess();  // Kill()
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  pid_t pid() const { return pid_; }
  Slot& slot(size_t i) { return slots_[i]; }
  int socket() const { return socket_; }
  int output() const { return output_; }  // what it prints
  int pid_fd() const { return pid_fd_; }

  // All in one. False: it is gone.
  bool Send(std::span<const Message> messages);
  // What it sent in one, appended to `to`; nothing is there: `to` stays as it is. An error: it is
  // gone, or wrote what is no message.
  absl::Status Receive(std::vector<Message>& to);
  // It can still send. False: it ended, or closed its socket.
  bool Connected() const;
  // What it printed since the last call, at most `most` bytes; never waits.
  std::string TakeOutput(size_t most);
  void CloseOutput();

  // Memory of its own, shared pages aside; 0 when it is gone.
  uint64_t OwnBytes() const;

  // Ends it and what it started, and reaps it. Idempotent.
  void Kill();
  // "was ended by signal 6 (Aborted)", "exited with code 3": how it ended. Kills it when it has
  // not.
  std::string Ending();

 private:
  PythonProcess() = default;
  void Reap();
  absl::Status Spawn(const std::string& python, int socket, int output);

  std::array<Slot, kSlots> slots_;
  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int socket_ = -1;
  int output_ = -1;
  bool reaped_ = false;
  int wait_status_ = 0;
};

// The text of host.py (generated).
extern const char kHostScript[];
extern const size_t kHostScriptBytes;

}  // namespace headrace::udf
