#include "worker/lease_puller.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

constexpr absl::Duration kNow = absl::Seconds(100);

v1::LeaseSplitsReply Reply(int leases, bool exhausted = false) {
  v1::LeaseSplitsReply reply;
  for (int i = 0; i < leases; ++i) reply.add_leases()->set_number(static_cast<uint64_t>(i) + 1);
  reply.set_exhausted(exhausted);
  return reply;
}

TEST(LeasePullerTest, OneRequestIsOutAtATime) {
  LeasePuller puller(1, 2);
  EXPECT_FALSE(puller.Next(0, kNow));
  const auto request = puller.Next(3, kNow);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->request_number(), 1u);
  EXPECT_EQ(request->want(), 3u);
  EXPECT_FALSE(puller.Next(3, kNow));
  EXPECT_EQ(puller.OnReply(1, Reply(3), kNow).leases.size(), 3u);
  EXPECT_EQ(puller.Next(2, kNow)->request_number(), 2u);
}

TEST(LeasePullerTest, ALostAnswerIsAskedForAgainUnderItsNumber) {
  LeasePuller puller(1, 2);
  ASSERT_TRUE(puller.Next(3, kNow));
  puller.OnFailure(1, kNow);
  EXPECT_FALSE(puller.Next(5, kNow)) << "backs off first";
  const auto again = puller.Next(0, kNow + absl::Milliseconds(50));
  ASSERT_TRUE(again) << "even when nothing is wanted any more: the answer may hold leases";
  EXPECT_EQ(again->request_number(), 1u);
  EXPECT_EQ(again->want(), 3u);
}

TEST(LeasePullerTest, ADoubledAnswerIsTakenOnce) {
  LeasePuller puller(1, 2);
  puller.Next(3, kNow);
  EXPECT_EQ(puller.OnReply(1, Reply(3), kNow).leases.size(), 3u);
  EXPECT_TRUE(puller.OnReply(1, Reply(3), kNow).leases.empty());
  puller.Next(3, kNow);
  EXPECT_TRUE(puller.OnReply(1, Reply(3), kNow).leases.empty());
  EXPECT_TRUE(puller.outstanding());
}

TEST(LeasePullerTest, AnExhaustedLaneIsLeftAloneUntilItWakes) {
  LeasePuller puller(1, 2);
  puller.Next(3, kNow);
  const auto answer = puller.OnReply(1, Reply(1, true), kNow);
  EXPECT_TRUE(answer.flush);
  EXPECT_EQ(answer.leases.size(), 1u);
  EXPECT_FALSE(puller.Next(3, kNow));
  puller.Wake();
  EXPECT_TRUE(puller.Next(3, kNow));
}

TEST(LeasePullerTest, WhoIsToldToWaitAsksAgainAndFlushesNothing) {
  LeasePuller puller(1, 2);
  puller.Next(3, kNow);
  v1::LeaseSplitsReply wait;
  wait.set_wait(true);
  const auto answer = puller.OnReply(1, wait, kNow);
  EXPECT_FALSE(answer.flush);
  EXPECT_FALSE(puller.exhausted());
  EXPECT_FALSE(puller.Next(3, kNow + absl::Milliseconds(49)));
  EXPECT_EQ(puller.Next(3, kNow + absl::Milliseconds(50))->request_number(), 1u);
  EXPECT_EQ(puller.OnReply(1, Reply(2), kNow).leases.size(), 2u);
}

TEST(LeasePullerTest, WhatIsCachedIsToldAtFirstAndWhenAsked) {
  LeasePuller puller(1, 2);
  EXPECT_TRUE(puller.Next(3, kNow)->tells_cached());
  puller.OnFailure(1, kNow);
  EXPECT_TRUE(puller.Next(3, kNow + absl::Seconds(1))->tells_cached()) << "nobody heard it";
  puller.OnReply(1, Reply(3), kNow);
  EXPECT_FALSE(puller.Next(3, kNow + absl::Seconds(1))->tells_cached());
  v1::LeaseSplitsReply asks = Reply(1);
  asks.set_tell_cached(true);
  puller.OnReply(2, asks, kNow);
  EXPECT_TRUE(puller.Next(3, kNow + absl::Seconds(1))->tells_cached());
}

TEST(LeasePullerTest, AnUnknownTaskIsGone) {
  LeasePuller puller(1, 2);
  puller.Next(3, kNow);
  v1::LeaseSplitsReply reply;
  reply.set_unknown_task(true);
  EXPECT_TRUE(puller.OnReply(1, reply, kNow).gone);
}

}  // namespace
}  // namespace headrace
