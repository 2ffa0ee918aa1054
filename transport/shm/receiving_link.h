// One stream of the shm connector: a connection to a worker, and the account of what of it is still
// read here. Held by the connector's thread while the stream lives, by the stream's handle, and by
// every frame whose memory is the worker's; the last one closes the connection, by which the worker
// has everything back.
//
// The connector's thread reads and calls the receiver. Grant, Close and Return come from any
// thread and send at once what the socket takes. Return does nothing in a forked child: the
// parent's frames are not the child's to give back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "transport/frame_connector.h"
#include "transport/frame_pool.h"
#include "transport/shm/poller.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/shm_messages.h"
#include "transport/shm/unix_socket.h"

namespace headrace {

// What the links of a connector share. Outlives their being watched, not the links.
struct ShmReceiving {
  size_t max_frame_bytes;
  FramePool pool;
  Poller poller;
};

class ReceivingLink final : public std::enable_shared_from_this<ReceivingLink> {
 public:
  ReceivingLink(ShmReceiving& receiving, uint64_t token, std::string address,
                const v1::StreamOpen& open, uint64_t credit,
                std::shared_ptr<FrameReceiver> receiver, absl::Duration give_up_at);

  // --- Any thread.
  void Grant(uint64_t bytes);
  void Close();
  // Frame `number`, of `bytes`, is not read any more. The worker is told when some have come
  // together, with the next grant, or by SendReturns.
  void Return(uint64_t number, uint64_t bytes);

  // --- The connector's thread.
  // Connects when that is still to be done, gives up when it has taken too long.
  void Connect(absl::Duration now);
  // Not open yet: Connect is to be called again, soon.
  bool connecting();
  void Read();
  void Write();
  // Gives back what waits for that, when it is `due`. True: something waits, or may come to.
  bool SendReturns(bool due);
  // Tells the receiver the end when there is one. True: it has been told, and the last words are
  // out; the socket is not watched any more.
  bool Settle();
  // Waits no longer for the last words to go out.
  void Abandon();

 private:
  enum class State { kConnecting, kGreeting, kOpen };
  struct LentFrame;

  absl::Status Take(const ShmMessageReader::Message& message);
  absl::Status TakeWelcome(Body body);
  absl::Status TakeSegment(Body body);
  absl::Status TakeFrame(Body body);
  absl::Status TakeEnd(Body body);
  absl::Status TakeRead();
  absl::Status DeliverFrame();
  // Where the places of frame_ lie here, and what keeps them.
  absl::Status Resolve(std::vector<FrameSlice>& pieces,
                       std::vector<std::shared_ptr<const void>>& owners) const;
  void BreakOff(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PushReturns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Detach() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ShmReceiving& receiving_;  // not once detached_
  const uint64_t token_;
  const std::string address_;
  const pid_t pid_;
  const absl::Duration give_up_at_;

  // The connector's thread's.
  const v1::StreamOpen open_;
  std::shared_ptr<FrameReceiver> receiver_;
  ShmMessageReader reader_;
  std::vector<FileDescriptor> descriptors_;  // came, and belong to messages that come
  std::map<uint32_t, std::shared_ptr<const MappedMemory>> segments_;
  FrameNotice frame_;  // whose inline bytes are under way
  std::shared_ptr<std::byte> inline_;
  size_t inline_filled_ = 0;
  bool filling_ = false;

  absl::Mutex mutex_;
  FileDescriptor socket_;  // the thread's own until detached_
  SendQueue out_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_) = State::kConnecting;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);             // what the receiver will be told
  uint64_t credit_ ABSL_GUARDED_BY(mutex_);                 // before it is open
  uint64_t received_ ABSL_GUARDED_BY(mutex_) = 0;           // frames
  size_t lent_ ABSL_GUARDED_BY(mutex_) = 0;                 // frames whose memory is read here
  std::vector<uint64_t> returned_ ABSL_GUARDED_BY(mutex_);  // are to be given back
  uint64_t returned_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;     // status_ is final
  bool blocked_ ABSL_GUARDED_BY(mutex_) = false;  // the socket is full
  bool detached_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace headrace
