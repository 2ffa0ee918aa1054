// Threads that wait for sockets, and the connections on them. Asio (and OpenSSL) stay behind it.
//
// A connection belongs to one loop: its callbacks come from that loop's thread, one at a time, and
// its methods are called there only. Loops outlive their wires.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls_files.h"

namespace headrace::tcp {

using Callback = absl::AnyInvocable<void()>;

// One thread. Post may be called from any.
class IoLoop {
 public:
  virtual ~IoLoop() = default;
  virtual void Post(Callback callback) = 0;
};

// A connected socket, TLS or not.
class Wire {
 public:
  // How many bytes; 0 and OK: the peer has ended.
  using Done = absl::AnyInvocable<void(const absl::Status&, size_t)>;

  virtual ~Wire() = default;
  // One of each may be out. The pieces stay until `done`; at least one byte is moved, if any.
  virtual void Read(std::span<const iovec> to, Done done) = 0;
  virtual void Write(std::span<const iovec> from, Done done) = 0;
  // Calls `tick` once, unless closed before. One at a time.
  virtual void After(absl::Duration delay, Callback tick) = 0;
  // What was written still goes out; nothing more is.
  virtual void EndWriting() = 0;
  // What is out is called back with CANCELLED, later.
  virtual void Close() = 0;
  virtual IoLoop& loop() = 0;
  virtual const std::string& peer() const = 0;
  virtual bool secure() const = 0;  // TLS guards the bytes
};

class TlsContext;  // certificates, read once

// Accepts connections until it goes.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual std::string address() const = 0;  // with the port that was chosen
  // Closes the listening socket, soon. From any thread.
  virtual void Stop() = 0;
};

// The threads. The destructor drops what is open and joins them.
class IoThreads {
 public:
  IoThreads(int threads, const std::string& name);
  ~IoThreads();

  IoLoop& Next();  // in turn; thread-safe

  // Null when `files` name none. Errors name the file.
  static absl::StatusOr<std::shared_ptr<TlsContext>> LoadTls(const TlsFiles& files, bool server);

  // `connected` is called once, on `loop`, within `timeout` (TLS included). UNAVAILABLE: nobody is
  // there, UNAUTHENTICATED: it is not who it should be.
  using Connected = absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<Wire>>)>;
  void Connect(IoLoop& loop, const std::string& address, std::shared_ptr<TlsContext> tls,
               absl::Duration timeout, Connected connected);

  // `accepted` is called on the loop of each new connection, in turn over the loops.
  using Accepted = std::function<void(std::unique_ptr<Wire>)>;
  absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& address,
                                                   std::shared_ptr<TlsContext> tls,
                                                   Accepted accepted);

 private:
  class Loop;
  class PlainWire;
  class TlsWire;
  class Acceptor;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace headrace::tcp
