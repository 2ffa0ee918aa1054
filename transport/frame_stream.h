// The serving side of a transport: how a worker's frames leave it. A driver (transport/grpc/,
// transport/tcp/, ...) implements FrameStream and FrameServer; the worker implements StreamHandler.
//
// Life of a stream: OnOpen, any number of OnReady, one OnClosed. The transport calls a stream's
// handler methods one at a time, from threads of its own and holding no lock; they must not block.
// FrameStream's methods may be called from any thread, inside of handler calls too; they never
// block and never call the handler themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "element/frame.h"
#include "element/frame_memory.h"
#include "headrace/v1/worker.pb.h"

namespace headrace {

// One client's stream of one task. Held by the worker as long as it likes; after OnClosed its
// methods do nothing.
class FrameStream {
 public:
  virtual ~FrameStream() = default;
  // What the client asked for.
  virtual const v1::StreamOpen& open() const = 0;
  // Who the client is, for messages: "ipv4:127.0.0.1:40814".
  virtual std::string peer() const = 0;
  // The driver's name, for logs and metrics: "grpc".
  virtual std::string_view transport() const = 0;

  // Hands a frame over and returns true, when the client has credit left, few enough bytes are
  // waiting to be sent and the stream is open. Else returns false, leaves `frame` as it was, and if
  // the stream is open OnReady will follow once it may be tried again. One caller at a time; frames
  // leave in the order they were taken. The driver keeps the frame's owners until its bytes are
  // out.
  [[nodiscard]] virtual bool TryWrite(Frame& frame) = 0;
  // What TryWrite would answer: to look before a frame is made or chosen. False also arms OnReady.
  [[nodiscard]] virtual bool ready() = 0;
  // Ends the stream once the frames taken so far are sent. OK: the task is over and the client has
  // all its frames. The first call counts.
  virtual void Finish(absl::Status status) = 0;
};

// What the worker makes of streams. Outlives the server.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  // A client asks for a task's frames. An error ends the stream with it (FAILED_PRECONDITION:
  // unknown task), and OnClosed does not follow.
  virtual absl::Status OnOpen(std::shared_ptr<FrameStream> stream) = 0;
  // TryWrite or ready() said false, and may now say true.
  virtual void OnReady(const std::shared_ptr<FrameStream>& stream) = 0;
  // The stream is over: OK after Finish(OK) or a client's orderly Close; CANCELLED or UNAVAILABLE
  // when the client broke off. Frames taken may not have arrived unless Finish(OK) came to its end.
  virtual void OnClosed(const std::shared_ptr<FrameStream>& stream, const absl::Status& status) = 0;
};

// A started server. Its destructor is Shutdown(zero).
class FrameServer {
 public:
  virtual ~FrameServer() = default;
  // Where clients reach it, with the port that was chosen when 0 was asked: "127.0.0.1:43211".
  virtual std::string address() const = 0;
  // What goes into TaskAddress.transports: the driver's name, and after a colon the address where
  // it is not TaskAddress.address: "grpc", "tcp:host:port". The worker puts its advertised name in
  // the place of `host`.
  virtual std::string transport() const = 0;
  // Memory from which it sends without a copy, for the engine to make batches in; null: none.
  virtual std::shared_ptr<FrameMemory> memory() const { return nullptr; }
  // Takes no more streams, waits up to `grace` for open ones to end, then breaks them off. When it
  // returns, the handler will not be called again. Idempotent.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace headrace
