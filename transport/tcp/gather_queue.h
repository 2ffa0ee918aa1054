// What waits to be written to a socket, and the pieces that the next system call takes. No sockets:
// one connection owns it, on its thread.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include "element/frame.h"
#include "transport/tcp/codecs.h"
#include "transport/tcp/wire_format.h"

namespace headrace::tcp {

class GatherQueue {
 public:
  // Bytes that go out as they are: hellos, messages with their bodies.
  void Push(std::string bytes);
  // A frame behind its head; coded, when `coded` has bytes.
  void Push(const Head& head, Frame frame, CodedFrame coded);

  // The next pieces, in order; 0 when nothing waits. They stay until Consume.
  size_t Fill(std::span<iovec> pieces) const;
  // `n` of their bytes are out: lets go of what is whole. Returns how many bytes of frames (before
  // coding) are out with it.
  size_t Consume(size_t n);
  bool empty() const { return items_.empty(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Item {
    std::string head;
    Frame frame;
    CodedFrame coded;
    size_t size = 0;         // of all
    size_t frame_bytes = 0;  // 0: no frame
  };

  std::deque<Item> items_;
  size_t done_ = 0;   // of the first one
  size_t bytes_ = 0;  // that wait
};

}  // namespace headrace::tcp
