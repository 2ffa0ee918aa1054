#include "common/logging/progress_bar.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

#include "common/fake_clock.h"

namespace headrace {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(ProgressLineTest, ShowsBarPercentRateAndEta) {
  const ProgressState state{"epoch 1", "records", 450, 1000, 50};
  EXPECT_EQ(ProgressLine(state, 75),
            "epoch 1 [===========>              ]  45%  450/1000  50 records/s  ETA 0:11");
  EXPECT_EQ(ProgressLine({"epoch 1", "records", 1000, 1000, 50}, 40),
            "epoch 1 100%  1000/1000  50 records/s");
}

TEST(ProgressLineTest, AnUnknownTotalHasNoBarAndNoEta) {
  EXPECT_EQ(ProgressLine({"read", "bytes", 3 << 20, std::nullopt, 1536}, 80),
            "read  3.00 MiB  1.50 KiB/s");
}

TEST(ProgressLineTest, NeverLongerThanTheTerminal) {
  const ProgressState state{"a long label", "records", 123'456'789, 1'000'000'000, 12'345.6};
  for (size_t columns = 0; columns < 120; ++columns) {
    EXPECT_LE(ProgressLine(state, columns).size(), columns);
  }
  EXPECT_THAT(ProgressLine(state, 119), HasSubstr("123.5M/1000.0M  12.3k records/s  ETA 19:43:2"));
}

class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    terminal_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (terminal_ < 0 || ::grantpt(terminal_) != 0 || ::unlockpt(terminal_) != 0) {
      GTEST_SKIP() << "no pseudo-terminal on this machine (/dev/ptmx)";
    }
    side_ = ::open(::ptsname(terminal_), O_RDWR | O_NOCTTY);
    ASSERT_GE(side_, 0);
    const winsize size{.ws_row = 25, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    ASSERT_EQ(::ioctl(side_, TIOCSWINSZ, &size), 0);
  }
  void TearDown() override {
    ::close(side_);
    ::close(terminal_);
  }
  // A terminal hands on what is written to it a little later.
  std::string ReadUntil(std::string_view marker, std::string_view end) {
    std::string out;
    char buffer[8192];
    pollfd ready{terminal_, POLLIN, 0};
    while (!(out.ends_with(end) && out.find(marker) != std::string::npos)) {
      if (::poll(&ready, 1, 20'000) <= 0) break;
      const ssize_t got = ::read(terminal_, buffer, sizeof(buffer));
      if (got > 0) out.append(buffer, static_cast<size_t>(got));
    }
    return out;
  }
  int terminal_ = -1;
  int side_ = -1;
  FakeClock clock_;
};

TEST_F(TerminalTest, DrawsTenTimesASecondAtMostAndEndsItsLine) {
  ProgressBar bar({.label = "copy", .unit = "records", .total = 100, .fd = side_}, clock_);
  ASSERT_TRUE(bar.shown());
  for (int i = 1; i <= 50; ++i) {
    clock_.Advance(absl::Milliseconds(10));
    bar.Update(i);
  }
  const std::string half = ReadUntil(" 50/100", "\x1b[K");
  EXPECT_EQ(std::count(half.begin(), half.end(), '\r'), 5);
  EXPECT_THAT(half, HasSubstr("100 records/s"));
  EXPECT_THAT(half, EndsWith("\x1b[K"));
  bar.Update(100);
  bar.Finish();
  bar.Update(101);
  bar.Finish();
  const std::string end = ReadUntil("100%", "\r\n");
  EXPECT_THAT(end, HasSubstr("100%"));
  EXPECT_THAT(end, EndsWith("\x1b[K\r\n"));  // the terminal adds the return
}

TEST(ProgressBarTest, WritesNothingWhereThereIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  FakeClock clock;
  {
    ProgressBar bar({.label = "copy", .total = 2, .fd = ends[1]}, clock);
    EXPECT_FALSE(bar.shown());
    clock.Advance(absl::Seconds(1));
    bar.Update(1);
    bar.Finish();
  }
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), -1);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace headrace
