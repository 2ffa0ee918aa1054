#include "transport/tcp/message_reader.h"

#include <cstring>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/tcp/codecs.h"
#include "transport/tcp/gather_queue.h"
#include "transport/transport_test_peers.h"

namespace headrace::tcp {
namespace {

using ::testing::HasSubstr;

class Heard final : public MessageSink {
 public:
  absl::Status OnHello(Hello hello) override {
    hellos.push_back(std::move(hello));
    return absl::OkStatus();
  }
  absl::Status OnMessage(const MessageHead& head, std::string_view body) override {
    messages.emplace_back(head, body);
    return absl::OkStatus();
  }
  absl::Status OnFrame(FrameBuffer frame) override {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.data.get()) % kFrameAlignment, 0u);
    frames.emplace_back(reinterpret_cast<const char*>(frame.data.get()), frame.size);
    return absl::OkStatus();
  }
  std::vector<Hello> hellos;
  std::vector<std::pair<MessageHead, std::string>> messages;
  std::vector<std::string> frames;
};

std::string BytesOf(const Frame& frame) {
  std::string bytes(frame.bytes, 0);
  CopyFrame(frame, reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

// What a queue would write, `most` pieces at a time.
std::string Drain(GatherQueue& queue, size_t most) {
  std::string wire;
  std::vector<iovec> pieces(most);
  while (const size_t n = queue.Fill(pieces)) {
    // Half of what was offered, as a socket may.
    size_t offered = 0;
    for (size_t i = 0; i < n; ++i) offered += pieces[i].iov_len;
    const size_t taken = (offered + 1) / 2;
    for (size_t i = 0, left = taken; left > 0; ++i) {
      const size_t part = std::min(left, pieces[i].iov_len);
      wire.append(static_cast<const char*>(pieces[i].iov_base), part);
      left -= part;
    }
    queue.Consume(taken);
  }
  return wire;
}

// Gives `wire` to the reader in pieces of at most `chunk` bytes.
absl::Status Feed(MessageReader& reader, std::string_view wire, size_t chunk, MessageSink& sink) {
  while (!wire.empty()) {
    iovec pieces[2];
    const size_t n = reader.Space(pieces);
    size_t left = std::min(chunk, wire.size());
    size_t fed = 0;
    for (size_t i = 0; i < n && left > 0; ++i) {
      const size_t part = std::min(left, pieces[i].iov_len);
      EXPECT_GT(pieces[i].iov_len, 0u);
      std::memcpy(pieces[i].iov_base, wire.data() + fed, part);
      fed += part;
      left -= part;
    }
    wire.remove_prefix(fed);
    if (absl::Status status = reader.Received(fed, sink); !status.ok()) return status;
  }
  return absl::OkStatus();
}

class MessageReaderTest : public ::testing::Test {
 protected:
  void Push(Frame frame, Codec codec = Codec::kNone) {
    sent_.push_back(BytesOf(frame));
    MessageHead head;
    head.type = MessageType::kFrame;
    head.size = head.value = frame.bytes;
    head.checksum = FrameHash().Of(frame);
    CodedFrame coded;
    if (codec != Codec::kNone) {
      coded = Compress(codec, frame);
      ASSERT_NE(coded.bytes, nullptr);
      head.codec = codec;
      head.size = coded.size;
    }
    queue_.Push(EncodeHead(head), std::move(frame), std::move(coded));
  }

  FramePool pool_{1 << 20};
  GatherQueue queue_;
  std::vector<std::string> sent_;
};

TEST_F(MessageReaderTest, WhatIsGatheredArrivesWholeHoweverItIsCut) {
  std::mt19937 rng(5);
  for (const size_t chunk : {size_t{1}, size_t{31}, size_t{4096}, size_t{1} << 20}) {
    sent_.clear();
    queue_.Push(EncodeHello({.features = 7, .value = 12, .body = "token"}));
    for (int i = 0; i < 30; ++i) {
      const size_t size = chunk == 1 ? rng() % 500 : rng() % (i % 4 == 0 ? 300000 : 2000);
      const Codec codec = i % 5 == 1 && size > 300   ? Codec::kLz4
                          : i % 5 == 2 && size > 300 ? Codec::kZstd
                                                     : Codec::kNone;
      Push(MarkedFrame(static_cast<uint8_t>(i), size), codec);
    }
    const Head credit = EncodeHead({.type = MessageType::kCredit, .value = 99});
    queue_.Push(std::string(reinterpret_cast<const char*>(credit.data()), credit.size()));
    const std::string wire = Drain(queue_, chunk % 60 + 1);
    MessageReader reader({.max_frame_bytes = 1 << 20, .pool = &pool_});
    reader.set_checksums(true);
    Heard heard;
    ASSERT_TRUE(Feed(reader, wire, chunk, heard).ok());
    ASSERT_EQ(heard.hellos.size(), 1u);
    EXPECT_EQ(heard.hellos[0].body, "token");
    EXPECT_EQ(heard.hellos[0].value, 12u);
    EXPECT_TRUE(heard.frames == sent_);
    ASSERT_EQ(heard.messages.size(), 1u);
    EXPECT_EQ(heard.messages[0].first.value, 99u);
  }
}

TEST_F(MessageReaderTest, AFlippedByteOfAFrameIsDataLoss) {
  for (const Codec codec : {Codec::kNone, Codec::kLz4, Codec::kZstd}) {
    Push(MarkedFrame(1, 100000), codec);
    std::string wire = EncodeHello({}) + Drain(queue_, 64);
    wire[wire.size() - 5] ^= 4;
    MessageReader reader({.max_frame_bytes = 1 << 20, .pool = &pool_});
    reader.set_checksums(true);
    Heard heard;
    EXPECT_EQ(Feed(reader, wire, 5000, heard).code(), absl::StatusCode::kDataLoss);
    EXPECT_TRUE(heard.frames.empty());
  }
}

TEST_F(MessageReaderTest, AFrameOverTheLimitIsRefusedByItsHead) {
  const Head head =
      EncodeHead({.type = MessageType::kFrame, .size = 1001, .value = 1001, .checksum = 0});
  const std::string wire =
      EncodeHello({}) + std::string(reinterpret_cast<const char*>(head.data()), head.size());
  MessageReader reader({.max_frame_bytes = 1000, .pool = &pool_});
  Heard heard;
  const absl::Status status = Feed(reader, wire, 1000, heard);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()), HasSubstr("transport.max_frame_bytes = 1000"));
}

TEST_F(MessageReaderTest, WhatIsNoMessageOfOursIsRefused) {
  MessageReader http({});
  Heard heard;
  EXPECT_FALSE(
      Feed(http, "GET / HTTP/1.1\r\nHost: worker\r\nAccept: */*\r\n\r\n", 1000, heard).ok());
  MessageReader frames({});  // a worker's: clients send none
  const Head head = EncodeHead({.type = MessageType::kFrame, .size = 10, .value = 10});
  EXPECT_FALSE(
      Feed(frames,
           EncodeHello({}) + std::string(reinterpret_cast<const char*>(head.data()), head.size()),
           1000, heard)
          .ok());
  MessageReader large({});
  const Head open = EncodeHead({.type = MessageType::kOpen, .size = uint64_t{1} << 40});
  EXPECT_FALSE(
      Feed(large,
           EncodeHello({}) + std::string(reinterpret_cast<const char*>(open.data()), open.size()),
           1000, heard)
          .ok());
}

}  // namespace
}  // namespace headrace::tcp
