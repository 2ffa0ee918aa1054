// One connection of either side: reads messages, writes what it is given, keeps the peer informed
// that it is alive and finds out when the peer is not. On its loop's thread only.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "transport/tcp/gather_queue.h"
#include "transport/tcp/io_loop.h"
#include "transport/tcp/message_reader.h"

namespace headrace::tcp {

struct LinkTimes {
  // Each side says kAlive when it has said nothing else for that long ...
  absl::Duration alive = absl::Seconds(5);
  // ... and takes the other one for dead when it has heard nothing for that long.
  absl::Duration dead = absl::Seconds(20);
  // From connecting to the stream that was asked for.
  absl::Duration handshake = absl::Seconds(5);
};

class LinkOwner : public MessageSink {
 public:
  // Bytes of frames went out, or none were left to send.
  virtual void OnSent(size_t frame_bytes) = 0;
  // The last call. OK: the peer ended its side.
  virtual void OnDown(const absl::Status& status) = 0;
};

class Link : public std::enable_shared_from_this<Link> {
 public:
  Link(std::unique_ptr<Wire> wire, const MessageReader::Options& reading, const LinkTimes& times);

  // `owner` is kept until OnDown has returned.
  void Start(std::shared_ptr<LinkOwner> owner);
  // No handshake is waited for any more.
  void Established() { established_ = true; }

  // Queue, then Flush.
  GatherQueue& queue() { return queue_; }
  void Flush();
  bool writing() const { return writing_; }
  // The socket was taking bytes without a pause since the last call: for that long, that many.
  // Zero bytes when it was idle.
  std::pair<size_t, absl::Duration> BusySince();

  // Says no more once what is queued is out; the peer has until `timeout` to end its side.
  void EndWriting(absl::Duration timeout);
  // Ends with `status` at once; OnDown comes from within.
  void Down(const absl::Status& status);

  MessageReader& reader() { return reader_; }
  const std::string& peer() const { return peer_; }
  bool secure() const { return secure_; }
  bool down() const { return owner_ == nullptr; }

 private:
  void Read();
  void OnRead(const absl::Status& status, size_t n);
  void OnWritten(const absl::Status& status, size_t n);
  void Tick();

  std::unique_ptr<Wire> wire_;
  const LinkTimes times_;
  const std::string peer_;
  const bool secure_;
  MessageReader reader_;
  GatherQueue queue_;
  std::shared_ptr<LinkOwner> owner_;
  bool established_ = false;
  bool writing_ = false;
  bool ending_ = false;
  absl::Duration started_;
  absl::Duration heard_;
  absl::Duration said_;
  absl::Duration ticked_;
  absl::Duration end_by_ = absl::InfiniteDuration();
  absl::Duration busy_since_;
  size_t busy_bytes_ = 0;
  bool idle_since_ = true;
};

}  // namespace headrace::tcp
