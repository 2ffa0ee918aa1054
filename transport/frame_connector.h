// The receiving side of a transport: how a client gets a task's frames.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "element/frame.h"
#include "headrace/v1/worker.pb.h"

namespace headrace {

// Gets what arrives. Called by threads of the transport, one call at a time per stream, holding no
// lock; must not block. The stream holds it until OnClosed has returned.
class FrameReceiver {
 public:
  virtual ~FrameReceiver() = default;
  // A whole frame: aligned, owned by whoever holds it. Its bytes are not checked yet
  // (FrameView::Parse does).
  virtual void OnFrame(FrameBuffer frame) = 0;
  // The last call. OK: the worker ended the stream, all frames have arrived. CANCELLED: Close or
  // the handle's destructor. Else: it never opened, or broke off; frames may be lost.
  virtual void OnClosed(const absl::Status& status) = 0;
};

// One stream. Thread-safe; nothing blocks. Letting go of it is Close.
class IncomingFrames {
 public:
  virtual ~IncomingFrames() = default;
  // Lets the worker send `bytes` more. A frame larger than what is left is sent when any is left.
  virtual void Grant(uint64_t bytes) = 0;
  // Breaks the stream off. OnClosed follows soon; frames on their way are dropped.
  virtual void Close() = 0;
};

// Opens streams over one transport. The destructor closes what is open and waits until every
// OnClosed has returned, so it must not be called from a receiver.
class FrameConnector {
 public:
  virtual ~FrameConnector() = default;
  // Never fails at once: an address that cannot be reached is an OnClosed with UNAVAILABLE and the
  // address in it. `address` is TaskAddress.address; `open.protocol` is filled in.
  virtual std::unique_ptr<IncomingFrames> Open(const std::string& address,
                                               const v1::StreamOpen& open, uint64_t credit,
                                               std::shared_ptr<FrameReceiver> receiver) = 0;
};

}  // namespace headrace
