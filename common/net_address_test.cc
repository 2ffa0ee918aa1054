#include "common/net_address.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(NetAddressTest, WhatPeopleWriteIsReadAndWrittenBack) {
  for (const char* text : {"0.0.0.0:5051", "worker-3.workers:5051", "[::1]:0", "localhost:65535",
                           "unix:/run/headrace.sock"}) {
    const absl::StatusOr<NetAddress> address = ParseNetAddress(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->ToString(), text);
  }
  const NetAddress six = ParseNetAddress("[fe80::1%eth0]:80").value();
  EXPECT_EQ(six.host, "fe80::1%eth0");
  EXPECT_EQ(six.port, 80);
  EXPECT_EQ(ParseNetAddress("unix:a.sock")->unix_path, "a.sock");
}

TEST(NetAddressTest, WhatIsNoAddressIsRefused) {
  const std::string long_path = "unix:" + std::string(108, 'x');
  for (const char* text :
       {"", "5051", "host", "host:", "host:x", "host:-1", "host:65536", ":5051", "::1:5051",
        "[::1]", "[]:1", "[::1:1", "a b:1", "unix:", long_path.c_str()}) {
    EXPECT_EQ(ParseNetAddress(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(NetAddressTest, LoopbackIsKnownByName) {
  EXPECT_TRUE(ParseNetAddress("localhost:1")->IsLoopback());
  EXPECT_TRUE(ParseNetAddress("127.0.0.1:1")->IsLoopback());
  EXPECT_TRUE(ParseNetAddress("[::1]:1")->IsLoopback());
  EXPECT_TRUE(ParseNetAddress("unix:/a")->IsLoopback());
  EXPECT_FALSE(ParseNetAddress("0.0.0.0:1")->IsLoopback());
  EXPECT_FALSE(ParseNetAddress("10.0.0.1:1")->IsLoopback());
}

}  // namespace
}  // namespace headrace
