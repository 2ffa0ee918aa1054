#include "rpc/channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/grpc_status.h"

namespace headrace {
namespace {

TEST(CheckAddressTest, TakesHostPortAndUnixPaths) {
  EXPECT_TRUE(CheckAddress("127.0.0.1:5050").ok());
  EXPECT_TRUE(CheckAddress("[::1]:0").ok());
  EXPECT_TRUE(CheckAddress("unix:/tmp/d.sock").ok());
}

TEST(CheckAddressTest, SaysWhatIsWrong) {
  EXPECT_THAT(CheckAddress("dispatcher").ToString(), testing::HasSubstr("host:port"));
  EXPECT_THAT(CheckAddress("host:70000").ToString(), testing::HasSubstr("'70000' is no port"));
  EXPECT_THAT(CheckAddress("host:12x").ToString(), testing::HasSubstr("'12x' is no port"));
  EXPECT_THAT(CheckAddress("unix:").ToString(), testing::HasSubstr("path must follow"));
  EXPECT_THAT(CheckAddress("unix:/" + std::string(120, 'a')).ToString(),
              testing::HasSubstr("107 bytes"));
}

TEST(ChannelsTest, OneChannelPerAddress) {
  Channels channels;
  EXPECT_EQ(channels.Get("127.0.0.1:1"), channels.Get("127.0.0.1:1"));
  EXPECT_NE(channels.Get("127.0.0.1:1"), channels.Get("127.0.0.1:2"));
}

TEST(ChannelsTest, ADroppedAddressGetsANewChannel) {
  Channels channels;
  const auto first = channels.Get("127.0.0.1:1");
  channels.Drop("127.0.0.1:1");
  EXPECT_NE(channels.Get("127.0.0.1:1"), first);
}

TEST(GrpcStatusTest, EveryCodeComesBack) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), code == 0 ? "" : "m");
    EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
  }
}

TEST(GrpcStatusTest, ALongMessageIsCut) {
  const grpc::Status cut = ToGrpcStatus(absl::InternalError(std::string(100'000, 'x')));
  EXPECT_EQ(cut.error_message().size(), kMaxStatusMessageBytes);
}

}  // namespace
}  // namespace headrace
