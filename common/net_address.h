// Where a role listens or is reached, as people write it: "host:port", "[::1]:0",
// "unix:/run/headrace.sock". Parsing only: nothing is looked up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace headrace {

struct NetAddress {
  std::string host = {};       // without brackets; empty: a Unix socket
  uint16_t port = 0;           // 0: to listen on a port that the system chooses
  std::string unix_path = {};  // not empty: a Unix socket

  bool is_unix() const { return !unix_path.empty(); }
  // Loopback by name: "localhost", 127.*, ::1, or a Unix socket. Such a server needs no TLS.
  bool IsLoopback() const;
  std::string ToString() const;  // as it was parsed
  bool operator==(const NetAddress&) const = default;
};

// INVALID_ARGUMENT says what is wrong: no port, a port over 65535, an IPv6 address without
// brackets, a path too long for a Unix socket.
absl::StatusOr<NetAddress> ParseNetAddress(std::string_view text);

}  // namespace headrace
