// Puts together what a peer sends: says where the next bytes should go, so that frames land in
// their own memory, and calls the sink with every hello, message and frame that is whole. No
// sockets: one connection owns it, on its thread.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "element/frame.h"
#include "transport/frame_pool.h"
#include "transport/tcp/checksum.h"
#include "transport/tcp/wire_format.h"

namespace headrace::tcp {

class MessageSink {
 public:
  virtual ~MessageSink() = default;
  // An error of any of them ends the connection with it; nothing is called after that.
  virtual absl::Status OnHello(Hello hello) = 0;
  // Anything but a frame. `body` dies with the call.
  virtual absl::Status OnMessage(const MessageHead& head, std::string_view body) = 0;
  virtual absl::Status OnFrame(FrameBuffer frame) = 0;
};

class MessageReader {
 public:
  struct Options {
    uint64_t max_frame_bytes = 0;  // 0: frames are refused
    FramePool* pool = nullptr;     // outlives it; null: frames are refused
  };
  explicit MessageReader(const Options& options);
  ~MessageReader();

  // Checked from the next frame on.
  void set_checksums(bool on) { checksums_ = on; }

  // Where the next bytes go: how many of the pieces are used, at least one, none of them empty.
  size_t Space(std::span<iovec, 2> pieces);
  // `n` bytes have come into them.
  absl::Status Received(size_t n, MessageSink& sink);

 private:
  struct Body {
    MessageHead head;
    std::shared_ptr<std::byte> memory;  // head.size bytes
    size_t filled = 0;
  };

  absl::Status Process(MessageSink& sink);
  absl::Status StartFrame(const MessageHead& head);
  void Fill(size_t n);  // n bytes of the frame have come
  absl::Status FinishFrame(MessageSink& sink);

  const Options options_;
  bool checksums_ = false;
  bool greeted_ = false;
  std::unique_ptr<std::byte[]> buffer_;  // heads, messages, small frames, beginnings of large ones
  size_t begin_ = 0;                     // in buffer_: what was not looked at
  size_t end_ = 0;
  bool in_frame_ = false;
  Body frame_;
  FrameHash hash_;
};

}  // namespace headrace::tcp
