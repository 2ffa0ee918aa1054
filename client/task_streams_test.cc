#include "client/task_streams.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct NoFrames final : IncomingFrames {
  void Grant(uint64_t) override {}
  void Close() override {}
};

class TaskStreamsTest : public ::testing::Test {
 protected:
  TaskStreams::Change SetTasks(std::vector<uint64_t> tasks) {
    google::protobuf::RepeatedPtrField<v1::TaskAddress> list;
    for (uint64_t task : tasks) {
      v1::TaskAddress* address = list.Add();
      address->set_task(task);
      address->set_address("worker:" + std::to_string(task));
    }
    return streams_.SetTasks(
        list, [this](uint64_t task) { return task == fenced_; }, now_, dropped_);
  }
  TaskStreams::Opening OpenOne(uint64_t task) {
    SetTasks({task});
    auto due = streams_.TakeDue(now_);
    EXPECT_EQ(due.size(), 1u);
    std::unique_ptr<IncomingFrames> handle = std::make_unique<NoFrames>();
    streams_.Opened(due[0], handle);
    EXPECT_EQ(handle, nullptr);
    return due[0];
  }

  TaskStreams streams_;
  TaskStreams::Handles dropped_;
  absl::Duration now_ = absl::Seconds(100);
  uint64_t fenced_ = 0;
};

TEST_F(TaskStreamsTest, ListedTasksAreOpenedOnceAndThoseLeftOutAreDropped) {
  fenced_ = 3;
  EXPECT_THAT(SetTasks({1, 2, 3}).added, ElementsAre(1, 2));
  EXPECT_EQ(streams_.TakeDue(now_).size(), 2u);
  EXPECT_THAT(streams_.TakeDue(now_), IsEmpty());
  const auto change = SetTasks({2, 4});
  EXPECT_THAT(change.added, ElementsAre(4));
  EXPECT_THAT(change.gone, ElementsAre(1));
  EXPECT_EQ(dropped_.size(), 1u);
}

TEST_F(TaskStreamsTest, AWorkerThatHasNotHeardOfItsTaskIsTriedAgainForAWhile) {
  auto opening = OpenOne(1);
  EXPECT_TRUE(streams_.Closed(1, opening.attempt, absl::FailedPreconditionError("unknown"), now_));
  EXPECT_THAT(streams_.Broken(), IsEmpty());
  EXPECT_EQ(streams_.Find(1), nullptr);
  EXPECT_THAT(streams_.TakeDue(now_), IsEmpty());
  now_ = streams_.NextDue();
  const auto again = streams_.TakeDue(now_);
  ASSERT_EQ(again.size(), 1u);
  now_ += absl::Seconds(10);
  streams_.Closed(1, again[0].attempt, absl::FailedPreconditionError("unknown"), now_);
  EXPECT_THAT(streams_.Broken(), ElementsAre(1));
}

TEST_F(TaskStreamsTest, ARefusalAfterAFrameIsABreak) {
  const auto opening = OpenOne(1);
  EXPECT_TRUE(streams_.Received(1, opening.attempt, 0));
  streams_.Closed(1, opening.attempt, absl::FailedPreconditionError("dropped"), now_);
  EXPECT_THAT(streams_.Broken(), ElementsAre(1));
}

TEST_F(TaskStreamsTest, AFrameThatWasLeftOutBreaksTheStream) {
  const auto opening = OpenOne(1);
  EXPECT_TRUE(streams_.Received(1, opening.attempt, 0));
  EXPECT_FALSE(streams_.Received(1, opening.attempt, 2));
  EXPECT_TRUE(streams_.AnyBroken());
  EXPECT_FALSE(streams_.Received(1, opening.attempt, 3));
  EXPECT_EQ(streams_.Find(1), nullptr);
  // Its orderly end does not make up for that.
  streams_.Closed(1, opening.attempt, absl::OkStatus(), now_);
  EXPECT_THAT(streams_.Broken(), ElementsAre(1));
}

TEST_F(TaskStreamsTest, AnEndIsNoBreak) {
  const auto opening = OpenOne(1);
  streams_.Closed(1, opening.attempt, absl::OkStatus(), now_);
  EXPECT_TRUE(streams_.ended(1));
  EXPECT_THAT(streams_.Broken(), IsEmpty());
  EXPECT_THAT(SetTasks({1}).added, IsEmpty());
  EXPECT_THAT(streams_.TakeDue(now_), IsEmpty());
}

TEST_F(TaskStreamsTest, WhatAnEarlierAttemptSaysIsIgnored) {
  const auto first = OpenOne(1);
  streams_.Closed(1, first.attempt, absl::FailedPreconditionError("unknown"), now_);
  now_ = streams_.NextDue();
  const auto second = streams_.TakeDue(now_)[0];
  EXPECT_FALSE(streams_.Received(1, first.attempt, 0));
  EXPECT_FALSE(streams_.Closed(1, first.attempt, absl::UnavailableError("gone"), now_));
  EXPECT_THAT(streams_.Broken(), IsEmpty());
  EXPECT_TRUE(streams_.Wanted(second));
  EXPECT_FALSE(streams_.Wanted(first));
}

TEST_F(TaskStreamsTest, ATaskListedAgainAfterItsStreamWasLetGoIsBroken) {
  const auto opening = OpenOne(1);
  streams_.Clear(dropped_);
  SetTasks({1, 2});
  const auto due = streams_.TakeDue(now_);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].task, 2u);
  EXPECT_NE(due[0].attempt, opening.attempt);
  EXPECT_THAT(streams_.Broken(), ElementsAre(1));
}

TEST_F(TaskStreamsTest, AHandleThatComesTooLateIsGivenBack) {
  SetTasks({1});
  const auto opening = streams_.TakeDue(now_)[0];
  streams_.Remove(1, dropped_);  // fenced meanwhile
  EXPECT_FALSE(streams_.Wanted(opening));
  std::unique_ptr<IncomingFrames> handle = std::make_unique<NoFrames>();
  streams_.Opened(opening, handle);
  EXPECT_NE(handle, nullptr);
}

}  // namespace
}  // namespace headrace
