// What every transport promises, tested on every driver.
#include <functional>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/fake_frame_network.h"
#include "transport/grpc/byte_buffers.h"
#include "transport/grpc/grpc_frame_connector.h"
#include "transport/grpc/grpc_frame_server.h"
#include "transport/shm/shm_frame_connector.h"
#include "transport/shm/shm_frame_server.h"
#include "transport/tcp/tcp_frame_connector.h"
#include "transport/tcp/tcp_frame_server.h"
#include "transport/transport_test_peers.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMaxFrame = size_t{48} << 20;

// A driver under test.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::unique_ptr<FrameServer> Serve(StreamHandler& handler) = 0;
  virtual std::unique_ptr<FrameConnector> Connector() = 0;
  virtual std::string DeadAddress() = 0;
  virtual bool Pump() { return false; }
};

class FakeDriver final : public Driver {
 public:
  std::unique_ptr<FrameServer> Serve(StreamHandler& handler) override {
    return network_.Serve("fake:1", handler);
  }
  std::unique_ptr<FrameConnector> Connector() override { return network_.Connector(); }
  std::string DeadAddress() override { return "fake:none"; }
  bool Pump() override { return network_.Step(); }

 private:
  FakeFrameNetwork network_{{.max_frame_bytes = kMaxFrame}};
};

class GrpcDriver final : public Driver {
 public:
  explicit GrpcDriver(std::string address, size_t max_message_bytes = kMaxMessageBytes)
      : address_(std::move(address)), max_message_bytes_(max_message_bytes) {}
  std::unique_ptr<FrameServer> Serve(StreamHandler& handler) override {
    auto server = StartGrpcFrameServer(
        {.address = address_, .max_message_bytes = max_message_bytes_}, handler);
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }
  std::unique_ptr<FrameConnector> Connector() override {
    return MakeGrpcFrameConnector({.max_frame_bytes = kMaxFrame});
  }
  std::string DeadAddress() override { return "127.0.0.1:1"; }

 private:
  const std::string address_;
  const size_t max_message_bytes_;
};

class TcpDriver final : public Driver {
 public:
  std::unique_ptr<FrameServer> Serve(StreamHandler& handler) override {
    auto server = StartTcpFrameServer({.checksums = TcpChecksums::kAlways}, handler);
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }
  std::unique_ptr<FrameConnector> Connector() override {
    return *MakeTcpFrameConnector({.max_frame_bytes = kMaxFrame});
  }
  std::string DeadAddress() override { return "127.0.0.1:1"; }
};

// With little shared memory: some frames are copied into it, some come through the socket.
class ShmDriver final : public Driver {
 public:
  explicit ShmDriver(std::string directory, size_t shm_bytes)
      : directory_(std::move(directory)), shm_bytes_(shm_bytes) {}
  std::unique_ptr<FrameServer> Serve(StreamHandler& handler) override {
    auto server = StartShmFrameServer({.directory = directory_},
                                      ShmPool::Create({.max_bytes = shm_bytes_}, RealClock()),
                                      RealClock(), handler);
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }
  std::unique_ptr<FrameConnector> Connector() override {
    return *MakeShmFrameConnector({.max_frame_bytes = kMaxFrame});
  }
  std::string DeadAddress() override { return "@headrace-nobody"; }

 private:
  const std::string directory_;
  const size_t shm_bytes_;
};

struct DriverParam {
  std::string name;
  std::function<std::unique_ptr<Driver>()> make;
};

class TransportContract : public ::testing::TestWithParam<DriverParam> {
 protected:
  void SetUp() override {
    driver_ = GetParam().make();
    server_ = driver_->Serve(worker_);
    connector_ = driver_->Connector();
  }

  struct Stream {
    std::shared_ptr<TestReceiver> receiver;
    std::unique_ptr<IncomingFrames> frames;
  };
  Stream Open(uint64_t task, uint64_t credit) { return OpenAt(server_->address(), task, credit); }
  Stream OpenAt(const std::string& address, uint64_t task, uint64_t credit) {
    auto receiver = std::make_shared<TestReceiver>(recording_);
    v1::StreamOpen open;
    open.set_client(9);
    open.set_task(task);
    return {receiver, connector_->Open(address, open, credit, receiver)};
  }

  // Waits for `done`, with a bound.
  bool Until(const std::function<bool()>& done) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    size_t seen = 0;
    while (!recording_.Look(done)) {
      if (driver_->Pump()) continue;
      if (absl::Now() > deadline) return false;
      seen = recording_.AwaitChange(seen);
    }
    return true;
  }
  // Gives what should not happen a chance to.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      while (driver_->Pump()) {
      }
      size_t seen = recording_.AwaitChange(0);
      recording_.AwaitChange(seen);
    }
  }
  bool UntilFrames(const Stream& stream, size_t n) {
    return Until([&] { return stream.receiver->marks.size() >= n; });
  }
  bool UntilClosed(const Stream& stream) {
    return Until([&] { return !stream.receiver->closed.empty(); });
  }

  Recording recording_;
  TestSender worker_{recording_};
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<FrameServer> server_;
  std::unique_ptr<FrameConnector> connector_;
};

TEST_P(TransportContract, FramesOfAnySizeArriveWholeAndInOrder) {
  std::mt19937 rng(3);
  std::vector<uint8_t> marks;
  std::vector<size_t> sizes;
  for (int i = 0; i < 200; ++i) {
    marks.push_back(static_cast<uint8_t>(i));
    sizes.push_back(i == 77 ? 20 << 20 : rng() % (i % 5 == 0 ? 200000 : 300));
    worker_.Push(1, MarkedFrame(marks.back(), sizes.back()));
  }
  worker_.FinishAfterLast(1);
  Stream stream = Open(1, uint64_t{1} << 40);
  ASSERT_TRUE(UntilClosed(stream));
  EXPECT_EQ(stream.receiver->marks, marks);
  EXPECT_EQ(stream.receiver->sizes, sizes);
  EXPECT_EQ(stream.receiver->damaged, 0u);
  EXPECT_TRUE(stream.receiver->closed[0].ok()) << stream.receiver->closed[0];
  ASSERT_TRUE(Until([&] { return !worker_.closed.empty(); }));
  EXPECT_TRUE(worker_.closed[0].ok()) << worker_.closed[0];
}

TEST_P(TransportContract, NoMoreThanTheCreditIsSent) {
  for (int i = 0; i < 10; ++i) worker_.Push(1, MarkedFrame(1, 936));  // 1,000 bytes each
  Stream stream = Open(1, 2500);
  ASSERT_TRUE(UntilFrames(stream, 3));  // the third begins with 500 left
  Settle();
  EXPECT_EQ(recording_.Look([&] { return stream.receiver->marks.size(); }), 3u);
  stream.frames->Grant(500);  // makes up for what went over
  Settle();
  EXPECT_EQ(recording_.Look([&] { return stream.receiver->marks.size(); }), 3u);
  stream.frames->Grant(1);
  ASSERT_TRUE(UntilFrames(stream, 4));
  Settle();
  EXPECT_EQ(recording_.Look([&] { return stream.receiver->marks.size(); }), 4u);
  stream.frames->Grant(100000);
  EXPECT_TRUE(UntilFrames(stream, 10));
}

TEST_P(TransportContract, WithoutCreditNothingIsSent) {
  worker_.Push(1, MarkedFrame(1, 10));
  Stream stream = Open(1, 0);
  ASSERT_TRUE(Until([&] { return worker_.opened == 1; }));
  Settle();
  EXPECT_TRUE(recording_.Look([&] { return stream.receiver->marks.empty(); }));
  stream.frames->Grant(1);
  EXPECT_TRUE(UntilFrames(stream, 1));
}

TEST_P(TransportContract, AFrameLargerThanTheCreditGoesWhenAnyIsLeft) {
  worker_.Push(1, MarkedFrame(1, 8 << 20));
  Stream stream = Open(1, 1);
  ASSERT_TRUE(UntilFrames(stream, 1));
  EXPECT_EQ(stream.receiver->damaged, 0u);
}

TEST_P(TransportContract, AFrameOverTheLimitBreaksTheStreamAndNamesTheKey) {
  worker_.Push(1, MarkedFrame(1, kMaxFrame));
  Stream stream = Open(1, 1);
  ASSERT_TRUE(UntilClosed(stream));
  EXPECT_EQ(stream.receiver->closed[0].code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(stream.receiver->closed[0].message()),
              HasSubstr("transport.max_frame_bytes = 50331648"));
  EXPECT_THAT(std::string(stream.receiver->closed[0].message()), HasSubstr(server_->address()));
  EXPECT_TRUE(Until([&] { return worker_.closed.size() == 1; }));
}

TEST_P(TransportContract, AFramesOwnersAreLetGoOnceItIsOut) {
  auto owner = std::make_shared<int>(1);
  std::weak_ptr<int> alive = owner;
  worker_.Push(1, MarkedFrame(1, 5 << 20, std::move(owner)));
  worker_.FinishAfterLast(1);
  Stream stream = Open(1, 1);
  ASSERT_TRUE(UntilClosed(stream));
  EXPECT_TRUE(Until([&] { return alive.expired(); }));
}

TEST_P(TransportContract, ARefusalReachesTheClientAndEndsThere) {
  worker_.Refuse(absl::FailedPreconditionError("task 1 is not known here"));
  Stream stream = Open(1, 1);
  ASSERT_TRUE(UntilClosed(stream));
  EXPECT_EQ(stream.receiver->closed[0].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(stream.receiver->closed[0].message()),
              HasSubstr("task 1 is not known here"));
  Settle();
  EXPECT_TRUE(recording_.Look([&] { return worker_.closed.empty(); }));
}

TEST_P(TransportContract, AWorkersErrorReachesTheClientAfterItsFrames) {
  worker_.Push(1, MarkedFrame(1, 10));
  Stream stream = Open(1, 1000);
  ASSERT_TRUE(UntilFrames(stream, 1));
  worker_.stream(1)->Finish(absl::DataLossError("a.tfrecord is damaged"));
  ASSERT_TRUE(UntilClosed(stream));
  EXPECT_EQ(stream.receiver->closed[0].code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(Until([&] { return worker_.closed.size() == 1; }));
}

TEST_P(TransportContract, NobodyThereIsUnavailableWithTheAddress) {
  Stream stream = OpenAt(driver_->DeadAddress(), 1, 1);
  ASSERT_TRUE(UntilClosed(stream));
  EXPECT_EQ(stream.receiver->closed[0].code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(stream.receiver->closed[0].message()), HasSubstr(driver_->DeadAddress()));
}

TEST_P(TransportContract, TheClientMayCloseAtOnce) {
  for (int i = 0; i < 20; ++i) {
    Stream stream = Open(static_cast<uint64_t>(i), 1000);
    stream.frames->Close();
    ASSERT_TRUE(UntilClosed(stream));
    EXPECT_EQ(stream.receiver->closed[0].code(), absl::StatusCode::kCancelled)
        << stream.receiver->closed[0];
  }
  EXPECT_TRUE(Until([&] { return worker_.closed.size() == worker_.opened; }));
}

TEST_P(TransportContract, TheClientMayCloseBetweenFrames) {
  for (int i = 0; i < 50; ++i) worker_.Push(1, MarkedFrame(1, 100000));
  Stream stream = Open(1, uint64_t{1} << 40);
  ASSERT_TRUE(UntilFrames(stream, 2));
  stream.frames.reset();
  ASSERT_TRUE(UntilClosed(stream));
  EXPECT_TRUE(Until([&] { return worker_.closed.size() == 1; }));
  Settle();
  EXPECT_EQ(stream.receiver->after_close, 0u);
  EXPECT_EQ(stream.receiver->closed.size(), 1u);
}

TEST_P(TransportContract, TheClientMayCloseWhileTheWorkerWaitsForCredit) {
  for (int i = 0; i < 5; ++i) worker_.Push(1, MarkedFrame(1, 1000));
  Stream stream = Open(1, 1);
  ASSERT_TRUE(UntilFrames(stream, 1));
  stream.frames->Close();
  ASSERT_TRUE(Until([&] { return worker_.closed.size() == 1; }));
  EXPECT_EQ(worker_.closed[0].code(), absl::StatusCode::kCancelled) << worker_.closed[0];
  ASSERT_TRUE(UntilClosed(stream));
  stream.frames->Grant(1000);  // does nothing any more
  Settle();
  EXPECT_EQ(stream.receiver->marks.size(), 1u);
}

TEST_P(TransportContract, AServerThatShutsDownTellsBothSides) {
  for (int i = 0; i < 5; ++i) worker_.Push(1, MarkedFrame(1, 1000));
  Stream stream = Open(1, 1);
  ASSERT_TRUE(UntilFrames(stream, 1));
  std::shared_ptr<FrameStream> held = worker_.stream(1);
  server_->Shutdown(absl::ZeroDuration());
  EXPECT_EQ(recording_.Look([&] { return worker_.closed.size(); }),
            1u);  // when it returns, all is told
  ASSERT_TRUE(UntilClosed(stream));
  EXPECT_FALSE(stream.receiver->closed[0].ok());
  Frame frame = MarkedFrame(1, 10);
  EXPECT_FALSE(held->TryWrite(frame));
  EXPECT_FALSE(held->ready());
  held->Finish(absl::OkStatus());
}

TEST_P(TransportContract, AConnectorThatGoesClosesItsStreams) {
  if (GetParam().name == "fake") GTEST_SKIP() << "the fake's calls are made by its Step alone";
  for (int i = 0; i < 5; ++i) worker_.Push(1, MarkedFrame(1, 1000));
  Stream stream = Open(1, 1);
  ASSERT_TRUE(UntilFrames(stream, 1));
  connector_.reset();
  EXPECT_EQ(recording_.Look([&] { return stream.receiver->closed.size(); }), 1u);
  EXPECT_TRUE(Until([&] { return worker_.closed.size() == 1; }));
}

TEST_P(TransportContract, StreamsOfOneConnectorDoNotHoldEachOtherUp) {
  for (int i = 0; i < 20; ++i) {
    worker_.Push(1, MarkedFrame(1, 200000));
    worker_.Push(2, MarkedFrame(2, 100));
  }
  worker_.FinishAfterLast(2);
  Stream starved = Open(1, 1);
  Stream fed = Open(2, uint64_t{1} << 40);
  ASSERT_TRUE(UntilClosed(fed));
  EXPECT_EQ(fed.receiver->marks.size(), 20u);
  EXPECT_TRUE(fed.receiver->closed[0].ok());
}

TEST_P(TransportContract, ATaskMayBeOpenedAgainAfterItsStreamBroke) {
  for (int i = 0; i < 4; ++i) worker_.Push(1, MarkedFrame(static_cast<uint8_t>(i), 1000));
  Stream first = Open(1, 1);
  ASSERT_TRUE(UntilFrames(first, 1));
  first.frames->Close();
  ASSERT_TRUE(Until([&] { return worker_.closed.size() == 1; }));
  worker_.FinishAfterLast(1);
  Stream second = Open(1, 100000);
  ASSERT_TRUE(UntilClosed(second));
  EXPECT_EQ(second.receiver->marks, (std::vector<uint8_t>{1, 2, 3}));
}

INSTANTIATE_TEST_SUITE_P(
    Drivers, TransportContract,
    ::testing::Values(
        DriverParam{"fake", [] { return std::make_unique<FakeDriver>(); }},
        DriverParam{"grpc", [] { return std::make_unique<GrpcDriver>("127.0.0.1:0"); }},
        DriverParam{"grpc_in_parts",
                    [] { return std::make_unique<GrpcDriver>("127.0.0.1:0", size_t{1} << 17); }},
        DriverParam{"grpc_unix",
                    [] {
                      return std::make_unique<GrpcDriver>("unix:" + ::testing::TempDir() +
                                                          "transport_contract.sock");
                    }},
        DriverParam{"tcp", [] { return std::make_unique<TcpDriver>(); }},
        DriverParam{"shm", [] { return std::make_unique<ShmDriver>("", size_t{1} << 30); }},
        DriverParam{
            "shm_scarce",
            [] { return std::make_unique<ShmDriver>(::testing::TempDir(), size_t{1} << 20); }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace headrace
