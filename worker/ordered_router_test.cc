#include "worker/ordered_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "element/frame_reader.h"

namespace headrace {
namespace {

using testing::ElementsAre;

// Takes frames while it has credit, in frames.
class TestStream final : public FrameStream {
 public:
  TestStream(uint32_t rank, size_t credit) : credit(credit) { open_.set_rank(rank); }
  const v1::StreamOpen& open() const override { return open_; }
  std::string peer() const override { return "test"; }
  std::string_view transport() const override { return "test"; }
  bool TryWrite(Frame& frame) override {
    if (credit == 0) return false;
    --credit;
    std::shared_ptr<std::byte> bytes = *AllocateFrameBytes(frame.bytes);
    CopyFrame(frame, bytes.get());
    frames.push_back(*FrameView::Parse({bytes, frame.bytes}));
    return true;
  }
  bool ready() override { return credit > 0; }
  void Finish(absl::Status status) override { finished = status; }

  size_t credit;
  std::vector<std::shared_ptr<const FrameView>> frames;
  std::optional<absl::Status> finished;

 private:
  v1::StreamOpen open_;
};

const SchemaPtr& TestSchema() {
  static const SchemaPtr& schema = *new SchemaPtr(std::make_shared<const Schema>(
      std::vector<Field>{{"x", DType::kInt32, Shape{-1, 2}}, {"text", DType::kBytes, Shape{-1}}}));
  return schema;
}

// One batch of the records [first, first + rows) of split 3.
Block MakeBatch(int32_t first, int32_t rows) {
  Block block(TestSchema());
  std::vector<int32_t> x;
  std::vector<std::string> text;
  for (int32_t i = first; i < first + rows; ++i) {
    x.insert(x.end(), {i, -i});
    text.push_back("t" + std::to_string(i));
  }
  const std::vector<std::string_view> views(text.begin(), text.end());
  const std::vector<Cell> cells = {MakeCell<int32_t>(block.arena(), x, Shape{rows, 2}),
                                   MakeBytesCell(block.arena(), views, Shape{rows})};
  block.AppendRow({Run{3, static_cast<uint64_t>(first), static_cast<uint64_t>(rows)}}, cells);
  return block;
}

std::vector<int32_t> XOf(const FrameView& frame) {
  const auto x = frame.at(0, 0).as<int32_t>();
  return {x.begin(), x.end()};
}

v1::OrderedTask Lane(uint32_t ranks) {
  v1::OrderedTask lane;
  lane.set_lane(5);
  lane.set_lanes(8);
  lane.set_ranks(ranks);
  lane.set_batch_rows(4);
  return lane;
}

TEST(OrderedRouterTest, EachRankGetsItsPartOfABatchAndAllOfARest) {
  OrderedRouter router(1, 0, Lane(2));
  OutputQueue output({}, true, nullptr, nullptr);
  router.BeginWindow(7);
  output.Push(MakeBatch(0, 4));
  output.Push(MakeBatch(4, 3));
  output.PushMark(TestSchema());
  auto first = std::make_shared<TestStream>(0, 100);
  auto second = std::make_shared<TestStream>(1, 100);
  router.Add(first);
  router.Add(second);
  ASSERT_TRUE(router.Pump(output).ok());
  ASSERT_EQ(first->frames.size(), 3u);
  ASSERT_EQ(second->frames.size(), 3u);
  EXPECT_THAT(XOf(*first->frames[0]), ElementsAre(0, 0, 1, -1));
  EXPECT_THAT(XOf(*second->frames[0]), ElementsAre(2, -2, 3, -3));
  EXPECT_EQ(second->frames[0]->at(1, 0).string(0), "t2");
  EXPECT_EQ(second->frames[0]->at(1, 0).string(1), "t3");
  std::vector<headrace::Run> runs;
  second->frames[0]->AppendRuns(0, 1, runs);
  EXPECT_THAT(runs, ElementsAre(headrace::Run{3, 2, 2}));
  for (const auto& stream : {first, second}) {
    EXPECT_EQ(XOf(*stream->frames[1]).size(), 6u);
    EXPECT_TRUE(stream->frames[1]->place()->rest);
    EXPECT_TRUE(stream->frames[2]->place()->window_end);
    for (uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(stream->frames[i]->place()->lane, 5u);
      EXPECT_EQ(stream->frames[i]->place()->window, 7u);
      EXPECT_EQ(stream->frames[i]->place()->piece, i);
      EXPECT_EQ(stream->frames[i]->sequence(), i);
    }
  }
}

TEST(OrderedRouterTest, ABlockIsKeptUntilTheSlowestRankHasIt) {
  OrderedRouter router(1, 0, Lane(2));
  OutputQueue output({}, true, nullptr, nullptr);
  router.BeginWindow(0);
  for (int32_t i = 0; i < 5; ++i) output.Push(MakeBatch(4 * i, 4));
  auto first = std::make_shared<TestStream>(0, 100);
  router.Add(first);
  ASSERT_TRUE(router.Pump(output).ok());
  EXPECT_EQ(first->frames.size(), 5u);
  // The other rank comes late and misses nothing.
  auto second = std::make_shared<TestStream>(1, 2);
  router.Add(second);
  ASSERT_TRUE(router.Pump(output).ok());
  EXPECT_EQ(second->frames.size(), 2u);
  second->credit = 100;
  ASSERT_TRUE(router.Pump(output).ok());
  ASSERT_EQ(second->frames.size(), 5u);
  EXPECT_THAT(XOf(*second->frames[4]), ElementsAre(18, -18, 19, -19));
}

// A rank that came back, or another process in its place: pieces that all ranks had are kept by
// nobody, so it must hear of it though the lane has nothing more to send.
TEST(OrderedRouterTest, ARankThatWasSentSomethingBeforeIsToldThatItIsGone) {
  OrderedRouter router(1, 0, Lane(1));
  OutputQueue output({}, true, nullptr, nullptr);
  router.BeginWindow(0);
  output.Push(MakeBatch(0, 4));
  auto unused = std::make_shared<TestStream>(0, 0);
  router.Add(unused);
  ASSERT_TRUE(router.Pump(output).ok());
  router.Remove(unused.get());
  auto first = std::make_shared<TestStream>(0, 100);
  router.Add(first);
  EXPECT_FALSE(first->finished.has_value()) << "the one before had nothing yet";
  ASSERT_TRUE(router.Pump(output).ok());
  ASSERT_EQ(first->frames.size(), 1u);
  router.Remove(first.get());
  auto second = std::make_shared<TestStream>(0, 100);
  router.Add(second);
  ASSERT_TRUE(second->finished.has_value());
  EXPECT_EQ(second->finished->code(), absl::StatusCode::kUnavailable);
}

TEST(OrderedRouterTest, NothingIsTakenWhileNobodyReads) {
  OrderedRouter router(1, 0, Lane(1));
  OutputQueue output({}, true, nullptr, nullptr);
  router.BeginWindow(0);
  output.Push(MakeBatch(0, 4));
  ASSERT_TRUE(router.Pump(output).ok());
  EXPECT_FALSE(output.empty());
}

TEST(OrderedRouterTest, ABatchThatAStepMadeShorterIsAnError) {
  OrderedRouter router(1, 0, Lane(2));
  OutputQueue output({}, true, nullptr, nullptr);
  router.BeginWindow(0);
  Block block = MakeBatch(0, 4);
  block.column(0)[0].shape = Shape{2, 4};
  output.Push(std::move(block));
  auto stream = std::make_shared<TestStream>(0, 100);
  router.Add(stream);
  EXPECT_EQ(router.Pump(output).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace headrace
