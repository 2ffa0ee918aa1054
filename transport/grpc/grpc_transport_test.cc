// What the grpc transport promises beyond the contract of every transport: frames that no gRPC
// message can hold, tokens, TLS.
#include <functional>

#include "common/test_certificate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/frame_pool.h"
#include "transport/grpc/byte_buffers.h"
#include "transport/transport_driver.h"
#include "transport/transport_test_peers.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

class GrpcTransportTest : public ::testing::Test {
 protected:
  GrpcTransportTest() { RegisterAll_transports(registry_); }

  void Serve(const TransportServeOptions& options) {
    auto server = registry_.Find("grpc")->Serve(options, worker_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void Open(const TransportConnectOptions& options, std::shared_ptr<FrameReceiver> receiver) {
    frames_.reset();
    auto connector = registry_.Find("grpc")->MakeConnector(options);
    ASSERT_TRUE(connector.ok()) << connector.status();
    connector_ = *std::move(connector);
    v1::StreamOpen open;
    open.set_task(1);
    frames_ = connector_->Open(server_->address(), open, uint64_t{1} << 40, std::move(receiver));
  }
  std::shared_ptr<TestReceiver> Open(const TransportConnectOptions& options) {
    auto receiver = std::make_shared<TestReceiver>(recording_);
    Open(options, receiver);
    return receiver;
  }
  bool Until(const std::function<bool()>& done) {
    const absl::Time deadline = absl::Now() + absl::Seconds(300);
    size_t seen = 0;
    while (!recording_.Look(done) && absl::Now() < deadline) seen = recording_.AwaitChange(seen);
    return recording_.Look(done);
  }
  absl::Status HowItClosed(const TestReceiver& receiver) {
    if (!Until([&] { return !receiver.closed.empty(); })) return absl::UnknownError("it did not");
    return recording_.Look([&] { return receiver.closed[0]; });
  }

  TransportRegistry registry_;
  Recording recording_;
  TestSender worker_{recording_};
  std::unique_ptr<FrameServer> server_;
  std::unique_ptr<FrameConnector> connector_;
  std::unique_ptr<IncomingFrames> frames_;
};

TEST_F(GrpcTransportTest, FramesOverTwoGibibytesArrive) {
  Frame frame = FrameOverTwoGibibytes();
  const size_t bytes = frame.bytes;
  Serve({});
  worker_.Push(1, std::move(frame));
  auto receiver = std::make_shared<EndsReceiver>(recording_);
  Open({.max_frame_bytes = size_t{4} << 30, .pooled_bytes = 0}, receiver);
  ASSERT_TRUE(Until([&] { return receiver->size != 0; }));
  EXPECT_EQ(receiver->size, bytes);
  EXPECT_EQ(receiver->first, std::byte{9});
  EXPECT_EQ(receiver->last, std::byte{9});
}

TEST_F(GrpcTransportTest, AFrameInPartsOverTheLimitNamesTheKey) {
  Serve({});
  worker_.Push(1, FrameOverTwoGibibytes());
  const auto receiver = Open({.max_frame_bytes = size_t{2} << 30});
  const absl::Status closed = HowItClosed(*receiver);
  EXPECT_EQ(closed.code(), absl::StatusCode::kOutOfRange) << closed;
  EXPECT_THAT(std::string(closed.message()), HasSubstr("transport.max_frame_bytes"));
}

TEST_F(GrpcTransportTest, AWrongTokenIsRefusedBeforeAnythingWasOpened) {
  Serve({.token = "Bearer 0123456789abcdef"});
  for (const char* token : {"", "Bearer 0123456789abcdeX"}) {
    const auto receiver = Open({.token = token});
    const absl::Status closed = HowItClosed(*receiver);
    EXPECT_EQ(closed.code(), absl::StatusCode::kUnauthenticated) << closed;
    EXPECT_THAT(std::string(closed.message()), HasSubstr("token_file"));
  }
  EXPECT_EQ(recording_.Look([&] { return worker_.opened; }), 0u);
  worker_.Push(1, MarkedFrame(5, 100));
  const auto receiver = Open({.token = "Bearer 0123456789abcdef"});
  EXPECT_TRUE(Until([&] { return receiver->marks.size() == 1; }));
}

TEST_F(GrpcTransportTest, MutualTlsLetsOnlyThoseInWhoShowACertificate) {
  TlsFiles worker = MakeCertificate("worker");
  TlsFiles client = MakeCertificate("client");
  worker.ca = client.cert;
  client.ca = worker.cert;
  TlsFiles stranger;
  stranger.ca = worker.cert;
  Serve({.tls = worker});
  for (int i = 0; i < 20; ++i) worker_.Push(1, MarkedFrame(static_cast<uint8_t>(i), 100000));
  for (const TlsFiles& wrong : {stranger, TlsFiles()}) {
    const auto receiver = Open({.tls = wrong});
    EXPECT_FALSE(HowItClosed(*receiver).ok());
  }
  EXPECT_EQ(recording_.Look([&] { return worker_.opened; }), 0u);
  const auto receiver = Open({.tls = client});
  ASSERT_TRUE(Until([&] { return receiver->marks.size() == 20; }));
  EXPECT_EQ(receiver->damaged, 0u);
}

TEST_F(GrpcTransportTest, ACertificateThatIsNotThereIsNamed) {
  TlsFiles files;
  files.cert = "/no/such.pem";
  const auto server = registry_.Find("grpc")->Serve({.tls = files}, worker_);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("tls.cert: /no/such.pem"));
}

TEST(FrameAssemblyTest, PartsThatDoNotFitAreDataLoss) {
  FramePool pool(0);
  FrameAssembly assembly(pool, size_t{1} << 20);
  std::deque<grpc::ByteBuffer> messages = ToByteBuffers(MarkedFrame(3, 1000), 400);
  ASSERT_EQ(messages.size(), 4u);  // the announcement, then 400, 400 and 264 bytes
  for (size_t i = 0; i < 3; ++i) {
    const auto part = assembly.Add(messages[i]);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_FALSE(part->has_value());
  }
  EXPECT_EQ(assembly.Add(messages[1]).status().code(), absl::StatusCode::kDataLoss);
  const auto whole = assembly.Add(messages[3]);
  ASSERT_TRUE(whole.ok() && whole->has_value()) << whole.status();
  EXPECT_EQ((*whole)->size, 1064u);
}

}  // namespace
}  // namespace headrace
