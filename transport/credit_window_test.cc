#include "transport/credit_window.h"

#include "gtest/gtest.h"

namespace headrace {
namespace {

TEST(CreditWindowTest, IsShutUntilSomethingIsGranted) {
  CreditWindow window;
  EXPECT_FALSE(window.Take(1));
  window.Grant(1);
  EXPECT_TRUE(window.Take(1));
  EXPECT_FALSE(window.open());
}

TEST(CreditWindowTest, AFrameOverWhatIsLeftGoesAndIsMadeUpForLater) {
  CreditWindow window;
  window.Grant(10);
  EXPECT_TRUE(window.Take(1000));
  EXPECT_EQ(window.left(), -990);
  window.Grant(990);
  EXPECT_FALSE(window.open());
  window.Grant(1);
  EXPECT_TRUE(window.open());
}

TEST(CreditWindowTest, GrantsThatOverflowStayAtTheMost) {
  CreditWindow window;
  window.Grant(~uint64_t{0});
  window.Grant(~uint64_t{0});
  EXPECT_EQ(window.left(), std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(window.Take(5));
  window.Grant(7);
  EXPECT_EQ(window.left(), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace headrace
