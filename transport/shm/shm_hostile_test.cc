// Peers that say what no client of ours would: they are shown the door, and nobody else notices.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

#include "transport/shm/shared_memory.h"
#include "transport/shm/shm_messages.h"
#include "transport/shm/shm_test_rig.h"
#include "transport/shm/unix_socket.h"

namespace headrace {
namespace {

class ShmHostileTest : public ::testing::Test {
 protected:
  FileDescriptor Dial() {
    const std::string address = rig_.server->address();
    auto socket = ConnectUnix(address.substr(address.find('@')));
    EXPECT_TRUE(socket.ok()) << socket.status();
    return *std::move(socket);
  }
  static void Send(const FileDescriptor& socket, const std::string& bytes) {
    (void)!::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Reads until the server hangs up; false when it does not.
  static bool IsShownTheDoor(const FileDescriptor& socket) {
    std::vector<std::byte> buffer(4096);
    while (true) {
      pollfd waits{socket.get(), POLLIN, 0};
      if (::poll(&waits, 1, 10000) != 1) return false;
      if (ReceiveSome(socket, buffer, nullptr).over) return true;
    }
  }
  // The nonce, which any client of this user is told.
  static ShmNonce NonceOf(const FileDescriptor& socket) {
    std::vector<std::byte> buffer(4096);
    std::vector<FileDescriptor> descriptors;
    pollfd waits{socket.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&waits, 1, 10000), 1);
    ReceiveSome(socket, buffer, &descriptors);
    ShmNonce nonce = {};
    EXPECT_EQ(descriptors.size(), 1u);
    if (descriptors.empty()) return nonce;
    auto mapped = MappedMemory::Map(descriptors[0], kShmNonceSegment);
    EXPECT_TRUE(mapped.ok()) << mapped.status();
    if (mapped.ok()) std::memcpy(nonce.data(), (*mapped)->data(), nonce.size());
    return nonce;
  }
  void ExpectOthersAreServed() {
    auto connector = *MakeShmFrameConnector();
    auto receiver = std::make_shared<KeepingReceiver>(rig_.recording);
    auto frames = connector->Open(rig_.server->address(), OpenOf(77), 1 << 30, receiver);
    rig_.worker.Push(77, MarkedFrame(5, 100000));
    EXPECT_TRUE(rig_.Until([&] { return receiver->frames.size() == 1; }));
    connector.reset();
  }

  ShmRig rig_;
};

TEST_F(ShmHostileTest, NoiseIsShownTheDoor) {
  std::mt19937 rng(6);
  for (int round = 0; round < 50; ++round) {
    const FileDescriptor socket = Dial();
    std::string noise(sizeof(ShmMessageHead) + rng() % 5000, '\0');
    for (char& c : noise) c = static_cast<char>(rng());
    Send(socket, noise);
    ::shutdown(socket.get(), SHUT_WR);
    EXPECT_TRUE(IsShownTheDoor(socket));
  }
  EXPECT_EQ(rig_.worker.opened, 0u);
  ExpectOthersAreServed();
}

TEST_F(ShmHostileTest, WhoDoesNotKnowTheNonceOpensNothing) {
  const FileDescriptor socket = Dial();
  OpenRequest request;
  request.open = OpenOf(1);
  Send(socket, OpenMessage(request));
  EXPECT_TRUE(IsShownTheDoor(socket));
  EXPECT_EQ(rig_.worker.opened, 0u);
}

TEST_F(ShmHostileTest, WhatDoesNotFitTheStreamEndsIt) {
  const uint64_t twice[] = {0, 0};
  const std::string lies[] = {ReturnMessage(twice),
                              ByeMessage(),
                              WelcomeMessage(),
                              std::string("\x11\0\0\0\xff\xff\xff\xff", 8),
                              std::string("\x12\0\0\0\0\0\0\0", 8),
                              std::string("\x63\0\0\0\0\0\0\0", 8)};
  size_t closed = 0;
  for (const std::string& lie : lies) {
    const FileDescriptor socket = Dial();
    OpenRequest request;
    request.nonce = NonceOf(socket);
    request.credit = 1 << 30;
    request.open = OpenOf(1);
    rig_.worker.Push(1, MarkedFrame(1, 200000));
    Send(socket, OpenMessage(request));
    Send(socket, lie);
    EXPECT_TRUE(IsShownTheDoor(socket));
    ++closed;
    EXPECT_TRUE(rig_.Until([&] { return rig_.worker.closed.size() == closed; }));
    EXPECT_EQ(rig_.worker.closed.back().code(), absl::StatusCode::kInvalidArgument)
        << rig_.worker.closed.back();
  }
  EXPECT_EQ(rig_.pool->used_bytes(), 0u);
  ExpectOthersAreServed();
}

TEST_F(ShmHostileTest, CreditWithoutEndIsNoHarm) {
  const FileDescriptor socket = Dial();
  OpenRequest request;
  request.nonce = NonceOf(socket);
  request.credit = UINT64_MAX;
  request.open = OpenOf(1);
  Send(socket, OpenMessage(request));
  for (int i = 0; i < 100; ++i) Send(socket, GrantMessage(UINT64_MAX));
  rig_.worker.Push(1, MarkedFrame(1, 200000));
  EXPECT_TRUE(rig_.Until([&] { return rig_.worker.opened == 1; }));
  ExpectOthersAreServed();
}

// A server that is no worker of ours: what it sends is refused, and nothing is read that it did not
// map for us.
class ShmFalseWorkerTest : public ::testing::Test {
 protected:
  // What a client makes of `said`, with the descriptors that go with each message.
  absl::Status Answer(std::vector<Outgoing> said) {
    const std::string name = "@headrace-false-" + std::to_string(::getpid());
    const FileDescriptor listener = *ListenUnix(name);
    auto connector = *MakeShmFrameConnector();
    auto receiver = std::make_shared<KeepingReceiver>(recording_);
    auto frames = connector->Open(name, OpenOf(1), 1 << 20, receiver);
    pollfd waits{listener.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&waits, 1, 10000), 1);
    const FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    SendQueue out;
    for (Outgoing& message : said) out.Push(std::move(message));
    EXPECT_TRUE(out.Flush(socket));
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    size_t seen = 0;
    while (recording_.Look([&] { return receiver->closed.empty(); }) && absl::Now() < deadline)
      seen = recording_.AwaitChange(seen);
    connector.reset();
    EXPECT_TRUE(receiver->frames.empty());
    return receiver->closed.empty() ? absl::OkStatus() : receiver->closed[0];
  }
  static FileDescriptor Sealed(size_t bytes) {
    OwnMemory made = *MakeSharedMemory(bytes);
    Unmap(made.base, bytes);
    return std::move(made.memory);
  }
  static Outgoing Welcome() { return {WelcomeMessage(), Sealed(kShmNonceSegment), {}, {}}; }

  Recording recording_;
};

TEST_F(ShmFalseWorkerTest, NoMemoryOrMemoryThatCouldShrinkIsNoWelcome) {
  std::vector<Outgoing> said;
  said.push_back({WelcomeMessage(), FileDescriptor(), {}, {}});
  absl::Status status = Answer(std::move(said));
  EXPECT_TRUE(IsUnreached(status)) << status;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

TEST_F(ShmFalseWorkerTest, FramesOutsideOfTheirSegmentAreRefused) {
  std::vector<Outgoing> said;
  said.push_back(Welcome());
  said.push_back({SegmentMessage({7, 4096}), Sealed(4096), {}, {}});
  FrameNotice frame;
  frame.size = 4096;
  frame.places = {{7, 0, 64, 4096}};
  said.push_back({FrameMessage(frame), FileDescriptor(), {}, {}});
  const absl::Status status = Answer(std::move(said));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST_F(ShmFalseWorkerTest, ASegmentSmallerThanPromisedIsRefused) {
  std::vector<Outgoing> said;
  said.push_back(Welcome());
  said.push_back({SegmentMessage({7, 1 << 20}), Sealed(4096), {}, {}});
  const absl::Status status = Answer(std::move(said));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

}  // namespace
}  // namespace headrace
