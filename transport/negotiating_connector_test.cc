#include "transport/negotiating_connector.h"

#include "common/fake_clock.h"
#include "common/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/fake_frame_network.h"
#include "transport/transport_test_peers.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A driver over a network of its own, that counts what is opened.
class FakeTransport final : public TransportDriver {
 public:
  FakeTransport(std::string name, FakeFrameNetwork& network, std::vector<std::string>& opened)
      : name_(std::move(name)), network_(network), opened_(opened) {}
  std::string_view name() const override { return name_; }
  absl::StatusOr<std::unique_ptr<FrameServer>> Serve(const TransportServeOptions& options,
                                                     StreamHandler& handler) const override {
    return network_.Serve(options.listen, handler);
  }
  absl::StatusOr<std::unique_ptr<FrameConnector>> MakeConnector(
      const TransportConnectOptions&) const override {
    if (name_ == "absent") return Unimplemented("not on this machine");
    return std::make_unique<Counted>(*this, network_.Connector());
  }

 private:
  class Counted final : public FrameConnector {
   public:
    Counted(const FakeTransport& owner, std::unique_ptr<FrameConnector> inner)
        : owner_(owner), inner_(std::move(inner)) {}
    std::unique_ptr<IncomingFrames> Open(const WorkerEndpoint& worker, const v1::StreamOpen& open,
                                         uint64_t credit,
                                         std::shared_ptr<FrameReceiver> receiver) override {
      owner_.opened_.push_back(owner_.name_ + ">" + worker.address);
      return inner_->Open(worker, open, credit, std::move(receiver));
    }

   private:
    const FakeTransport& owner_;
    const std::unique_ptr<FrameConnector> inner_;
  };

  const std::string name_;
  FakeFrameNetwork& network_;
  std::vector<std::string>& opened_;
};

class NegotiatingConnectorTest : public ::testing::Test {
 protected:
  NegotiatingConnectorTest() {
    auto drivers = std::make_shared<TransportRegistry>();
    for (const char* name : {"fast", "grpc", "absent"})
      drivers->Add(std::make_unique<FakeTransport>(name, network_, opened_));
    drivers_ = std::move(drivers);
    for (int i = 0; i < 5; ++i) worker_.Push(1, MarkedFrame(static_cast<uint8_t>(i), 36));
  }
  void Connect(const std::string& transport = kAutoTransport) {
    NegotiationOptions options;
    options.transport = transport;
    auto connector = MakeNegotiatingConnector(drivers_, options, clock_);
    ASSERT_TRUE(connector.ok()) << connector.status();
    connector_ = *std::move(connector);
  }
  void Open(const WorkerEndpoint& at, uint64_t credit = 1 << 20) {
    receiver_ = std::make_shared<TestReceiver>(recording_);
    v1::StreamOpen open;
    open.set_task(1);
    stream_ = connector_->Open(at, open, credit, receiver_);
  }

  Recording recording_;
  TestSender worker_{recording_};
  FakeFrameNetwork network_;
  std::vector<std::string> opened_;
  FakeClock clock_;
  std::shared_ptr<const TransportRegistry> drivers_;
  std::unique_ptr<FrameConnector> connector_;
  std::shared_ptr<TestReceiver> receiver_;
  std::unique_ptr<IncomingFrames> stream_;
};

TEST_F(NegotiatingConnectorTest, TheFirstThatTheWorkerOffersAndWeKnowIsUsed) {
  auto server = network_.Serve("f:1", worker_);
  Connect();
  Open({"w:1", {"newer:x", "absent", "fast:f:1", "grpc"}});
  network_.RunUntilIdle();
  EXPECT_THAT(opened_, ElementsAre("fast>f:1"));
  EXPECT_EQ(receiver_->marks.size(), 5u);
}

TEST_F(NegotiatingConnectorTest, AWorkerThatOffersNothingSpeaksGrpc) {
  auto server = network_.Serve("w:1", worker_);
  Connect();
  Open({"w:1"});
  network_.RunUntilIdle();
  EXPECT_THAT(opened_, ElementsAre("grpc>w:1"));
  EXPECT_EQ(receiver_->marks.size(), 5u);
}

TEST_F(NegotiatingConnectorTest, OneThatIsOutOfReachGivesWayAndIsLeftOutForAWhile) {
  auto server = network_.Serve("w:1", worker_);
  Connect();
  const WorkerEndpoint at{"w:1", {"fast:f:1", "grpc"}};
  Open(at, 1);  // granted before anybody was reached
  stream_->Grant(1 << 20);
  network_.RunUntilIdle();
  EXPECT_THAT(opened_, ElementsAre("fast>f:1", "grpc>w:1"));
  EXPECT_EQ(receiver_->marks.size(), 5u);
  Open(at);
  network_.RunUntilIdle();
  EXPECT_THAT(opened_, ElementsAre("fast>f:1", "grpc>w:1", "grpc>w:1"));
  opened_.clear();
  clock_.Advance(absl::Minutes(11));
  Open(at);
  network_.RunUntilIdle();
  EXPECT_THAT(opened_, ElementsAre("fast>f:1", "grpc>w:1"));
}

TEST_F(NegotiatingConnectorTest, TheRememberedOneThatIsGoneIsForgotten) {
  auto server = network_.Serve("w:1", worker_);
  Connect();
  const WorkerEndpoint at{"w:1", {"fast:f:1", "grpc"}};
  Open(at);
  network_.RunUntilIdle();
  opened_.clear();
  server.reset();
  server = network_.Serve("f:1", worker_);
  Open(at);
  network_.RunUntilIdle();
  EXPECT_THAT(opened_, ElementsAre("grpc>w:1", "fast>f:1"));
  EXPECT_TRUE(receiver_->closed.empty());
}

TEST_F(NegotiatingConnectorTest, AnErrorOfAStreamThatWasOpenIsNotTriedElsewhere) {
  auto fast = network_.Serve("f:1", worker_);
  auto grpc = network_.Serve("w:1", worker_);
  Connect();
  Open({"w:1", {"fast:f:1", "grpc"}}, 1);
  network_.RunUntilIdle();
  EXPECT_EQ(receiver_->marks.size(), 1u);
  network_.BreakStreams("f:1");
  network_.RunUntilIdle();
  EXPECT_THAT(opened_, ElementsAre("fast>f:1"));
  ASSERT_EQ(receiver_->closed.size(), 1u);
  EXPECT_EQ(receiver_->closed[0].code(), absl::StatusCode::kUnavailable);
}

TEST_F(NegotiatingConnectorTest, NobodyReachedNamesTheWorkerAndEachTry) {
  Connect();
  Open({"w:1", {"absent", "fast:f:1", "grpc"}});
  network_.RunUntilIdle();
  ASSERT_EQ(receiver_->closed.size(), 1u);
  EXPECT_EQ(receiver_->closed[0].code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(receiver_->closed[0].message()),
              AllOf(HasSubstr("worker w:1"), HasSubstr("absent: not on this machine"),
                    HasSubstr("fast: "), HasSubstr("grpc: ")));
}

TEST_F(NegotiatingConnectorTest, AForcedOneThatIsNotOfferedIsAnErrorWithWhatIs) {
  Connect("absent");
  Open({"w:1", {"fast:f:1", "grpc"}});
  ASSERT_EQ(receiver_->closed.size(), 1u);
  EXPECT_EQ(receiver_->closed[0].code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(receiver_->closed[0].message()),
              AllOf(HasSubstr("worker w:1 does not serve transport 'absent'"),
                    HasSubstr("it offers fast, grpc")));
}

TEST_F(NegotiatingConnectorTest, AForcedOneGivesWayToNone) {
  auto grpc = network_.Serve("w:1", worker_);
  Connect("fast");
  const WorkerEndpoint at{"w:1", {"fast:f:1", "grpc"}};
  Open(at);
  network_.RunUntilIdle();
  EXPECT_THAT(opened_, ElementsAre("fast>f:1"));
  EXPECT_EQ(receiver_->closed[0].code(), absl::StatusCode::kUnavailable);  // it may come back
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(absl::Seconds(10));
    Open(at);
    network_.RunUntilIdle();
  }
  EXPECT_EQ(receiver_->closed[0].code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(receiver_->closed[0].message()),
              HasSubstr("transport 'fast' is forced, the worker offers fast, grpc"));
}

TEST_F(NegotiatingConnectorTest, AForcedWordThatNamesNoDriverSaysWhichOnesThereAre) {
  NegotiationOptions options;
  options.transport = "fats";
  const absl::Status status = MakeNegotiatingConnector(drivers_, options, clock_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean 'fast'?"));
}

TEST_F(NegotiatingConnectorTest, AStreamClosedBetweenTriesEndsThere) {
  auto grpc = network_.Serve("w:1", worker_);
  Connect();
  Open({"w:1", {"fast:f:1", "grpc"}});
  stream_->Close();
  network_.RunUntilIdle();
  ASSERT_EQ(receiver_->closed.size(), 1u);
  EXPECT_EQ(receiver_->closed[0].code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(opened_, ElementsAre("fast>f:1"));
}

}  // namespace
}  // namespace headrace
