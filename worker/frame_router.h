// Which client streams a task's finished blocks leave by. Thread-safe: streams come and go on
// transport threads, the send loop pumps.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "pipeline/engine/output_queue.h"
#include "transport/frame_stream.h"

namespace headrace {

class FrameRouter {
 public:
  virtual ~FrameRouter() = default;
  virtual void Add(std::shared_ptr<FrameStream> stream) = 0;
  virtual void Remove(const FrameStream* stream) = 0;
  // Ends every stream with OK, once the frames it was given are sent.
  virtual void FinishAll() = 0;
  // Moves blocks while there are some and a stream is ready. An error is a frame that cannot be
  // made (too large: it names the limit).
  virtual absl::Status Pump(OutputQueue& output) = 0;
};

}  // namespace headrace
