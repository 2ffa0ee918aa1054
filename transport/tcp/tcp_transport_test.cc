// What the tcp transport promises beyond the contract of every transport: peers that are hostile,
// silent or strangers, TLS, compression.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "common/net_address.h"
#include "common/test_certificate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/tcp/tcp_frame_connector.h"
#include "transport/tcp/tcp_frame_server.h"
#include "transport/transport_test_peers.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// Bare sockets, for peers that do not play along.
class BareSocket {
 public:
  static BareSocket To(const std::string& address) {
    BareSocket socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in at = Loopback(ParseNetAddress(address)->port);
    EXPECT_EQ(connect(socket.fd_, reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
    return socket;
  }
  static BareSocket Listening(std::string& address) {
    BareSocket socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in at = Loopback(0);
    socklen_t size = sizeof(at);
    auto* raw = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(bind(socket.fd_, raw, size), 0);
    EXPECT_EQ(listen(socket.fd_, 5), 0);
    EXPECT_EQ(getsockname(socket.fd_, raw, &size), 0);
    address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    return socket;
  }
  BareSocket Accept() const { return BareSocket(accept(fd_, nullptr, nullptr)); }
  BareSocket(BareSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  BareSocket& operator=(BareSocket&&) = delete;
  ~BareSocket() {
    if (fd_ >= 0) close(fd_);
  }
  void Send(const std::string& bytes) const {
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // What comes until the peer closes; it must do so in time.
  std::string ReadAll() const {
    timeval limit{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    std::string all;
    char buffer[4096];
    ssize_t n = 0;
    while ((n = recv(fd_, buffer, sizeof(buffer), 0)) > 0) all.append(buffer, n);
    EXPECT_TRUE(n == 0 || errno == ECONNRESET) << "not closed within 20 s";
    return all;
  }
  // Exactly n bytes.
  std::string Read(size_t n) const {
    std::string all(n, 0);
    EXPECT_EQ(recv(fd_, all.data(), n, MSG_WAITALL), static_cast<ssize_t>(n));
    return all;
  }

 private:
  explicit BareSocket(int fd) : fd_(fd) {}
  static sockaddr_in Loopback(uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    return at;
  }
  int fd_;
};

std::string HeadBytes(const tcp::MessageHead& head) {
  const tcp::Head bytes = tcp::EncodeHead(head);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class TcpTransportTest : public ::testing::Test {
 protected:
  void Serve(const TcpFrameServerOptions& options = {}) {
    auto server = StartTcpFrameServer(options, worker_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void Open(const std::string& address, const TcpFrameConnectorOptions& options = {}) {
    auto connector = MakeTcpFrameConnector(options);
    ASSERT_TRUE(connector.ok()) << connector.status();
    connector_ = *std::move(connector);
    receiver_ = std::make_shared<TestReceiver>(recording_);
    v1::StreamOpen open;
    open.set_task(1);
    frames_ = connector_->Open(address, open, uint64_t{1} << 40, receiver_);
  }
  bool Until(const std::function<bool()>& done) {
    const absl::Time deadline = absl::Now() + absl::Seconds(300);
    size_t seen = 0;
    while (!recording_.Look(done) && absl::Now() < deadline) seen = recording_.AwaitChange(seen);
    return recording_.Look(done);
  }
  bool UntilClosed() {
    return Until([&] { return !receiver_->closed.empty(); });
  }

  Recording recording_;
  TestSender worker_{recording_};
  std::unique_ptr<FrameServer> server_;
  std::unique_ptr<FrameConnector> connector_;
  std::shared_ptr<TestReceiver> receiver_;
  std::unique_ptr<IncomingFrames> frames_;
};

constexpr tcp::LinkTimes kShort{.alive = absl::Milliseconds(50),
                                .dead = absl::Milliseconds(400),
                                .handshake = absl::Milliseconds(300)};

TEST_F(TcpTransportTest, AStrangerIsSentAwayAndOthersAreServedOn) {
  Serve();
  const BareSocket browser = BareSocket::To(server_->address());
  browser.Send("GET /metrics HTTP/1.1\r\nHost: worker\r\n\r\n");
  EXPECT_EQ(browser.ReadAll(), "");
  const BareSocket hostile = BareSocket::To(server_->address());
  hostile.Send(tcp::EncodeHello({}) +
               HeadBytes({.type = tcp::MessageType::kOpen, .size = uint64_t{1} << 50}));
  EXPECT_EQ(hostile.ReadAll().size(), tcp::kHeadBytes);  // our hello
  worker_.Push(1, MarkedFrame(5, 100));
  Open(server_->address());
  EXPECT_TRUE(Until([&] { return receiver_->marks.size() == 1; }));
}

TEST_F(TcpTransportTest, WhoSaysNothingIsSentAway) {
  Serve({.times = kShort});
  EXPECT_EQ(BareSocket::To(server_->address()).ReadAll(), "");
  const BareSocket half = BareSocket::To(server_->address());
  half.Send(tcp::EncodeHello({}));
  EXPECT_EQ(half.ReadAll().size(), tcp::kHeadBytes);
}

TEST_F(TcpTransportTest, AWrongTokenIsRefusedBeforeAnythingWasOpened) {
  Serve({.token = "0123456789abcdef"});
  Open(server_->address(), {.token = "0123456789abcdeX"});
  ASSERT_TRUE(UntilClosed());
  EXPECT_EQ(receiver_->closed[0].code(), absl::StatusCode::kUnauthenticated);
  EXPECT_TRUE(IsUnreached(receiver_->closed[0]));
  EXPECT_THAT(std::string(receiver_->closed[0].message()), HasSubstr(server_->address()));
  EXPECT_EQ(worker_.opened, 0u);
  worker_.Push(1, MarkedFrame(5, 100));
  Open(server_->address(), {.token = "0123456789abcdef"});
  EXPECT_TRUE(Until([&] { return receiver_->marks.size() == 1; }));
}

TEST_F(TcpTransportTest, AnotherVersionIsRefusedWithBoth) {
  Serve();
  const BareSocket client = BareSocket::To(server_->address());
  tcp::Hello hello;
  hello.version = 9;
  client.Send(tcp::EncodeHello(hello));
  EXPECT_THAT(client.ReadAll(), HasSubstr("version 1 of the tcp transport, the client 9"));
}

TEST_F(TcpTransportTest, AClientThatFallsSilentIsGivenUp) {
  Serve({.times = kShort});
  const BareSocket client = BareSocket::To(server_->address());
  v1::StreamOpen open;
  open.set_task(1);
  const std::string body = open.SerializeAsString();
  client.Send(tcp::EncodeHello({}) +
              HeadBytes({.type = tcp::MessageType::kOpen, .size = body.size()}) + body);
  ASSERT_TRUE(Until([&] { return worker_.closed.size() == 1; }));
  EXPECT_THAT(std::string(worker_.closed[0].message()), HasSubstr("nothing was heard"));
}

TEST_F(TcpTransportTest, AWorkerThatFallsSilentIsGivenUp) {
  std::string address;
  const BareSocket listener = BareSocket::Listening(address);
  Open(address, {.times = kShort});
  const BareSocket worker = listener.Accept();
  worker.Read(tcp::kHeadBytes);
  worker.Send(tcp::EncodeHello({}));
  ASSERT_TRUE(UntilClosed());
  EXPECT_EQ(receiver_->closed[0].code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(IsUnreached(receiver_->closed[0]));  // it may have seen the open
}

TEST_F(TcpTransportTest, AWorkerThatNeverAnswersIsUnreached) {
  std::string address;
  const BareSocket listener = BareSocket::Listening(address);
  Open(address, {.times = kShort});
  ASSERT_TRUE(UntilClosed());
  EXPECT_EQ(receiver_->closed[0].code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(IsUnreached(receiver_->closed[0]));
}

TEST_F(TcpTransportTest, AnIdleStreamStaysOpen) {
  Serve({.times = kShort});
  Open(server_->address(), {.times = kShort});
  ASSERT_TRUE(Until([&] { return worker_.opened == 1; }));
  // Longer than the silence that is allowed: both say that they are alive.
  recording_.AwaitChange(recording_.AwaitChange(0));
  const absl::Time later = absl::Now() + 3 * kShort.dead;
  while (absl::Now() < later) recording_.AwaitChange(recording_.AwaitChange(0));
  EXPECT_TRUE(recording_.Look([&] { return receiver_->closed.empty(); }));
  worker_.Push(1, MarkedFrame(5, 100));
  EXPECT_TRUE(Until([&] { return receiver_->marks.size() == 1; }));
}

TEST_F(TcpTransportTest, CompressedFramesArriveAsTheyWere) {
  for (const auto compression : {tcp::Compression::kLz4, tcp::Compression::kZstd}) {
    frames_.reset();
    connector_.reset();
    server_.reset();
    Serve({.compression = compression});
    for (int i = 0; i < 20; ++i)
      worker_.Push(1, MarkedFrame(static_cast<uint8_t>(i), i % 2 == 0 ? 200000 : 50));
    Open(server_->address());
    ASSERT_TRUE(Until([&] { return receiver_->marks.size() == 20; }));
    EXPECT_EQ(receiver_->damaged, 0u);
  }
}

TEST_F(TcpTransportTest, FramesOverTwoGibibytesArrive) {
  Frame frame = FrameOverTwoGibibytes();
  const size_t bytes = frame.bytes;
  Serve();
  worker_.Push(1, std::move(frame));
  connector_ = *MakeTcpFrameConnector({.max_frame_bytes = size_t{4} << 30, .pooled_bytes = 0});
  auto receiver = std::make_shared<EndsReceiver>(recording_);
  v1::StreamOpen open;
  open.set_task(1);
  frames_ = connector_->Open(server_->address(), open, 1, receiver);
  ASSERT_TRUE(Until([&] { return receiver->size != 0; }));
  EXPECT_EQ(receiver->size, bytes);
  EXPECT_EQ(receiver->first, std::byte{9});
  EXPECT_EQ(receiver->last, std::byte{9});
}

TEST_F(TcpTransportTest, MutualTlsLetsOnlyThoseInWhoShowACertificate) {
  TlsFiles worker = MakeCertificate("worker");
  TlsFiles client = MakeCertificate("client");
  worker.ca = client.cert;
  client.ca = worker.cert;
  TlsFiles stranger;
  stranger.ca = worker.cert;
  Serve({.tls = worker});
  for (int i = 0; i < 20; ++i) worker_.Push(1, MarkedFrame(static_cast<uint8_t>(i), 100000));
  Open(server_->address(), {.tls = stranger});
  ASSERT_TRUE(UntilClosed());
  EXPECT_FALSE(receiver_->closed[0].ok());
  EXPECT_TRUE(IsUnreached(receiver_->closed[0]));
  EXPECT_EQ(worker_.opened, 0u);
  Open(server_->address());  // no TLS at all
  ASSERT_TRUE(UntilClosed());
  EXPECT_TRUE(IsUnreached(receiver_->closed[0]));
  Open(server_->address(), {.tls = client});
  ASSERT_TRUE(Until([&] { return receiver_->marks.size() == 20; }))
      << (receiver_->closed.empty() ? absl::OkStatus() : receiver_->closed[0]);
  EXPECT_EQ(receiver_->damaged, 0u);
}

TEST_F(TcpTransportTest, ACertificateThatIsNotThereIsNamed) {
  TlsFiles files;
  files.cert = "/no/such.pem";
  const auto server = StartTcpFrameServer({.tls = files}, worker_);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("tls.cert: /no/such.pem"));
}

}  // namespace
}  // namespace headrace
