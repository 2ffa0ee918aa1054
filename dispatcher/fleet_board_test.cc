#include "dispatcher/fleet_board.h"

#include "gtest/gtest.h"

namespace headrace {
namespace {

v1::ReportLoadRequest Load(uint64_t worker, double busy) {
  v1::ReportLoadRequest request;
  request.set_worker(worker);
  request.mutable_load()->set_busy_seconds(busy);
  return request;
}

v1::ObserveFleetReply Live(std::initializer_list<uint64_t> workers) {
  v1::ObserveFleetReply reply;
  for (uint64_t worker : workers) reply.add_workers()->set_worker(worker);
  return reply;
}

TEST(FleetBoardTest, TheLastLoadOfALiveWorkerIsShown) {
  FleetBoard board;
  board.Report(Load(1, 1));
  board.Report(Load(1, 2));
  board.Report(Load(7, 3));
  auto reply = Live({1, 2});
  board.Fill(false, reply);
  EXPECT_EQ(reply.workers(0).load().busy_seconds(), 2);
  EXPECT_FALSE(reply.workers(1).has_load());
  reply = Live({1, 7});
  board.Fill(false, reply);
  EXPECT_FALSE(reply.workers(1).has_load());  // it was gone, and is forgotten
}

TEST(FleetBoardTest, ADecisionIsKeptOnceHoweverOftenItIsSent) {
  FleetBoard board;
  v1::ObserveFleetRequest request;
  request.set_orchestrator(5);
  for (uint64_t number = 1; number <= 3; ++number) request.add_decided()->set_number(number);
  ASSERT_TRUE(board.Take(request).ok());
  request.add_decided()->set_number(4);
  ASSERT_TRUE(board.Take(request).ok());
  auto reply = Live({});
  board.Fill(true, reply);
  EXPECT_EQ(reply.decisions_size(), 4);
  request.set_orchestrator(6);  // another one counts from 1 again
  ASSERT_TRUE(board.Take(request).ok());
  reply = Live({});
  board.Fill(true, reply);
  EXPECT_EQ(reply.decisions_size(), 8);
}

TEST(FleetBoardTest, OldDecisionsGoAndTooManyAreRefused) {
  FleetBoard board;
  v1::ObserveFleetRequest request;
  request.set_orchestrator(5);
  for (uint64_t number = 1; number <= 500; ++number) {
    request.clear_decided();
    request.add_decided()->set_number(number);
    ASSERT_TRUE(board.Take(request).ok());
  }
  auto reply = Live({});
  board.Fill(true, reply);
  EXPECT_EQ(reply.decisions_size(), 200);
  EXPECT_EQ(reply.decisions(0).number(), 301u);
  for (uint64_t number = 501; number <= 800; ++number) request.add_decided()->set_number(number);
  EXPECT_FALSE(board.Take(request).ok());
}

}  // namespace
}  // namespace headrace
