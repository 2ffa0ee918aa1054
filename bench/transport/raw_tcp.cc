#include "bench/transport/raw_tcp.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kHead = 64;
constexpr size_t kFramesPerWrite = 32;
constexpr size_t kWriteBytes = size_t{1} << 20;

void Send(int socket, size_t bytes, size_t frames) {
  const std::string head(kHead, 'h');
  const std::string payload(bytes, 'x');
  const size_t batch =
      std::min(kFramesPerWrite, std::max<size_t>(1, kWriteBytes / (bytes + kHead)));
  while (frames > 0) {
    std::vector<iovec> pieces;
    for (size_t i = 0; i < std::min(batch, frames); ++i) {
      pieces.push_back({const_cast<char*>(head.data()), kHead});
      pieces.push_back({const_cast<char*>(payload.data()), bytes});
    }
    frames -= pieces.size() / 2;
    size_t at = 0;
    while (at < pieces.size()) {
      const ssize_t n = writev(socket, pieces.data() + at, static_cast<int>(pieces.size() - at));
      if (n <= 0) return;
      for (size_t left = static_cast<size_t>(n); left > 0;) {
        const size_t part = std::min(left, pieces[at].iov_len);
        pieces[at].iov_base = static_cast<char*>(pieces[at].iov_base) + part;
        pieces[at].iov_len -= part;
        left -= part;
        if (pieces[at].iov_len == 0) ++at;
      }
    }
  }
  shutdown(socket, SHUT_WR);
}

}  // namespace

absl::StatusOr<double> RawTcpBytesPerSecond(size_t bytes, size_t frames) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  int server = -1;
  const absl::Cleanup close_all = [&] {
    for (int fd : {listener, client, server}) close(fd);
  };
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  auto* address = reinterpret_cast<sockaddr*>(&at);
  if (bind(listener, address, size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, address, &size) != 0 || connect(client, address, size) != 0 ||
      (server = accept(listener, nullptr, nullptr)) < 0) {
    return ErrnoStatus(errno, "loopback socket");
  }
  const int on = 1;
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const auto begin = std::chrono::steady_clock::now();
  std::thread sender([&] { Send(server, bytes, frames); });
  std::vector<char> buffer(bytes + kHead);
  size_t received = 0;
  for (size_t in_frame = 0;;) {
    const ssize_t n = recv(client, buffer.data() + in_frame, buffer.size() - in_frame, 0);
    if (n <= 0) break;
    received += static_cast<size_t>(n);
    in_frame = (in_frame + static_cast<size_t>(n)) % buffer.size();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  sender.join();
  if (received != (bytes + kHead) * frames) return DataLoss("the raw loop lost bytes");
  return static_cast<double>(received) / seconds.count();
}

}  // namespace headrace
