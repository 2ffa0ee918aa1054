// Unix stream sockets that carry descriptors, and what the kernel knows of who is at the other end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/frame.h"
#include "transport/shm/file_descriptor.h"

namespace headrace {

// `name` is a path, or "@" and a name in the kernel's abstract space, which vanishes with the
// socket. Both fail with what the system says; connecting with UNAVAILABLE, or ABORTED when the
// listener's queue is full: try again. Sockets do not block and are closed on exec.
absl::StatusOr<FileDescriptor> ListenUnix(const std::string& name);
absl::StatusOr<FileDescriptor> ConnectUnix(const std::string& name);

struct PeerIdentity {
  pid_t pid = 0;  // 0: not visible from here
  uid_t uid = 0;
};
absl::StatusOr<PeerIdentity> PeerOf(const FileDescriptor& socket);

// What came of one read: bytes > 0; or 0 and `over` (end of stream, or an error); or 0: nothing
// there now. Received descriptors are appended to `descriptors`; `lost` says that some could not
// be taken (this process has no descriptors left).
struct Received {
  size_t bytes = 0;
  bool over = false;
  bool lost = false;
};
Received ReceiveSome(const FileDescriptor& socket, std::span<std::byte> to,
                     std::vector<FileDescriptor>* descriptors);

// One message that waits to be sent: `head`, then `parts`. `keep` lives until its last byte is out.
struct Outgoing {
  std::string head;
  FileDescriptor descriptor;  // goes with the first byte
  std::vector<FrameSlice> parts;
  Frame keep;
};

// Messages on their way out of a socket, many a system call. Under its owner's lock.
class SendQueue {
 public:
  void Push(Outgoing message);
  void Push(std::string message) { Push(Outgoing{std::move(message), {}, {}, {}}); }
  // Sends what the socket takes. False: the other side is gone.
  bool Flush(const FileDescriptor& socket);
  void Clear();
  bool empty() const { return messages_.empty(); }
  size_t bytes() const { return bytes_; }  // not out yet

 private:
  void Sent(size_t bytes);

  std::deque<Outgoing> messages_;
  size_t sent_ = 0;  // of the first
  size_t bytes_ = 0;
};

}  // namespace headrace
