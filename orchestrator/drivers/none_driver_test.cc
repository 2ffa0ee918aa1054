#include "orchestrator/drivers/none_driver.h"

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

TEST(NoneDriverTest, WhatIsThereIsWhatIsWanted) {
  NoneDriver driver;
  v1::ObserveFleetReply fleet;
  for (const char* state : {"ready", "draining", "ready"}) fleet.add_workers()->set_state(state);
  ASSERT_TRUE(driver.Reconcile(fleet).ok());
  EXPECT_EQ(driver.wanted(), 2u);
  driver.SetWorkers(9);
  EXPECT_EQ(driver.wanted(), 2u);
  EXPECT_FALSE(driver.scales());
}

}  // namespace
}  // namespace headrace::orchestrate
