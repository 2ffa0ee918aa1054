// One client's connection to the shm server: a stream, and after its end the account of what the
// client still reads.
//
// The server's thread reads, notices the end and calls the handler; TryWrite, ready and Finish come
// from any thread and send at once what the socket takes. Everything is decided under mutex_; the
// handler is called, and frames are let go of, without it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "transport/credit_window.h"
#include "transport/frame_stream.h"
#include "transport/shm/frame_placer.h"
#include "transport/shm/poller.h"
#include "transport/shm/shm_messages.h"
#include "transport/shm/shm_pool.h"
#include "transport/shm/unix_socket.h"

namespace headrace {

// What the links of a server share. Outlives their being watched, not the links.
struct ShmServing {
  StreamHandler& handler;
  std::shared_ptr<ShmPool> pool;
  size_t max_waiting_bytes;
  ShmNonce nonce;
  Poller poller;
};

class ServingLink final : public FrameStream, public std::enable_shared_from_this<ServingLink> {
 public:
  // `token` names the socket in the poller.
  ServingLink(ShmServing& serving, uint64_t token, FileDescriptor socket, PeerIdentity peer,
              absl::Duration since);

  const v1::StreamOpen& open() const override { return open_; }
  std::string peer() const override { return peer_; }
  std::string_view transport() const override { return "shm"; }
  [[nodiscard]] bool TryWrite(Frame& frame) override;
  [[nodiscard]] bool ready() override;
  void Finish(absl::Status status) override;

  // --- The server's thread.
  // The first message; `nonce` is a descriptor of the segment that has it.
  void Greet(FileDescriptor nonce);
  // Takes what the client sent. False: it is gone, or not one of ours; call Over.
  bool Read();
  void Write();
  // Tells the handler what is due: a client, room, the end.
  void Deliver();
  // The client has gone, or is let go: takes everything back.
  void Over(absl::Status status);
  // The segment is gone.
  void Forget(uint32_t segment);
  // Connected and never opened a stream since then.
  bool IdleSince(absl::Duration time);
  bool streaming();  // opened, and the handler has not been told of its end
  int socket() const { return socket_.get(); }

 private:
  enum class State { kGreeting, kOpen, kOver };

  absl::Status Take(const ShmMessageReader::Message& message,
                    std::vector<std::shared_ptr<const void>>& freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TakeOpen(Body body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TakeReturns(Body body, std::vector<std::shared_ptr<const void>>& freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeClose(uint64_t received, std::vector<std::shared_ptr<const void>>& freed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Writable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells the client of the frame's segments; false when one cannot be shared.
  bool Announce(const FrameNotice& notice) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndWith(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ShmServing& serving_;  // not once closed_
  const std::shared_ptr<ShmPool> pool_;
  const uint64_t token_;
  const std::string peer_;
  const absl::Duration since_;
  ShmMessageReader reader_;  // the server's thread's
  v1::StreamOpen open_;      // set once, before OnOpen
  bool told_open_ = false;   // the server's thread's

  absl::Mutex mutex_;
  FileDescriptor socket_;
  SendQueue out_ ABSL_GUARDED_BY(mutex_);
  CreditWindow credit_ ABSL_GUARDED_BY(mutex_);
  // What the client may be reading, by frame number.
  std::map<uint64_t, std::vector<std::shared_ptr<const void>>> lent_ ABSL_GUARDED_BY(mutex_);
  std::set<uint32_t> known_ ABSL_GUARDED_BY(mutex_);  // segments that it was told of
  uint64_t frames_ ABSL_GUARDED_BY(mutex_) = 0;       // sent
  State state_ ABSL_GUARDED_BY(mutex_) = State::kGreeting;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // how it ends
  bool open_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool close_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;   // no frame more
  bool armed_ ABSL_GUARDED_BY(mutex_) = false;    // the handler was told false
  bool blocked_ ABSL_GUARDED_BY(mutex_) = false;  // the socket is full
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace headrace
