// Frames through shared memory, serving side: for clients on this host that see the same memory.
// docs/design/013-shared-memory.md says why it is as it is.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "transport/frame_stream.h"
#include "transport/shm/shm_pool.h"

namespace headrace {

struct ShmFrameServerOptions {
  // Where the Unix socket lies, under a name that nobody can guess. Empty: in the kernel's abstract
  // space, which clients in the same network namespace share and which keeps nothing after a
  // crash. Sockets that killed workers left in the directory are removed at start.
  std::string directory;
  // Bytes that may wait in one stream for its socket.
  size_t max_waiting_bytes = size_t{4} << 20;
};

// Starts serving clients of this process's own user. `transport()` is "shm:", the host's tag and
// the socket's name. UNAVAILABLE names the socket that cannot be made. `handler` and `clock` must
// outlive the server; frames that lie in `pool` are lent, others are copied into it.
absl::StatusOr<std::unique_ptr<FrameServer>> StartShmFrameServer(
    const ShmFrameServerOptions& options, std::shared_ptr<ShmPool> pool, const Clock& clock,
    StreamHandler& handler);

}  // namespace headrace
