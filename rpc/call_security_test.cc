#include "rpc/call_security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "common/status.h"
#include "common/test_certificate.h"
#include "rpc/fake_dispatcher_handler.h"
#include "rpc/grpc_dispatcher_client.h"
#include "rpc/grpc_dispatcher_service.h"

namespace headrace {
namespace {

using testing::HasSubstr;

class JobsHandler : public FakeDispatcherHandler {
 public:
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest&) override {
    ++calls;
    return v1::ListJobsReply();
  }
  std::atomic<int> calls = 0;  // counted on the server's threads
};

class CallSecurityTest : public testing::Test {
 protected:
  void Serve(const TlsFiles& tls, const std::string& token_file = "") {
    const absl::StatusOr<ServerSecurity> security = MakeServerSecurity(tls, token_file);
    ASSERT_TRUE(security.ok()) << security.status();
    service_ = MakeGrpcDispatcherService(handler_, RealClock(), nullptr, security->token);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0",
                             security->credentials != nullptr ? security->credentials
                                                              : grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = fmt::format("127.0.0.1:{}", port);
  }
  absl::Status Call(const TlsFiles& tls, const std::string& token_file = "") {
    const absl::StatusOr<ChannelOptions> options = MakeChannelOptions(tls, token_file);
    if (!options.ok()) return options.status();
    const auto client =
        MakeGrpcDispatcherClient(MakeChannel(address_, *options), address_, RealClock(), nullptr,
                                 {options->token, options->credentials != nullptr});
    return client->ListJobs({}, absl::Seconds(2)).status();
  }
  std::string TokenFile(const std::string& name, const std::string& token) {
    const std::string path =
        testing::TempDir() + fmt::format("call_security_{}_{}", getpid(), name);
    std::ofstream(path) << token;
    return path;
  }
  void TearDown() override {
    if (server_ != nullptr)
      server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  }

  JobsHandler handler_;
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

std::string Text(const absl::Status& status) { return OneLine(status); }

TEST_F(CallSecurityTest, TheTokenLetsInAndNothingElse) {
  const std::string right = TokenFile("right", "0123456789abcdef");
  Serve({}, right);
  EXPECT_EQ(Call({}, right), absl::OkStatus());
  EXPECT_EQ(handler_.calls.load(), 1);
  const absl::Status none = Call({});
  EXPECT_EQ(none.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(Text(none), HasSubstr("token_file"));
  EXPECT_THAT(Text(none), HasSubstr(address_));
  const absl::Status wrong = Call({}, TokenFile("wrong", "0123456789abcdeX"));
  EXPECT_EQ(wrong.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(Text(wrong), testing::Not(HasSubstr("0123")));
  EXPECT_EQ(handler_.calls.load(), 1);
}

TEST_F(CallSecurityTest, MutualTlsLetsOnlyThoseInWhoShowACertificate) {
  TlsFiles server = MakeCertificate("server");
  TlsFiles client = MakeCertificate("client");
  server.ca = client.cert;
  client.ca = server.cert;
  Serve(server);
  EXPECT_EQ(Call(client), absl::OkStatus());
  const absl::Status bare = Call({.ca = server.cert});
  EXPECT_THAT(Text(bare), HasSubstr("tls.cert"));
  const absl::Status plain = Call({});
  EXPECT_THAT(Text(plain), HasSubstr("tls.ca"));
  EXPECT_FALSE(IsTlsMismatch(plain));  // a dispatcher that restarts looks like that, too
  EXPECT_EQ(handler_.calls.load(), 1);
}

TEST_F(CallSecurityTest, ACertificateOfAnUnknownAuthorityIsAMismatch) {
  const TlsFiles server = MakeCertificate("server");
  Serve(server);
  EXPECT_EQ(Call({.ca = server.cert}), absl::OkStatus());
  const absl::Status status = Call({.ca = MakeCertificate("stranger").cert});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(IsTlsMismatch(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("tls.ca"));
}

TEST_F(CallSecurityTest, ACertificateForAnotherNameIsAMismatchUnlessThatNameIsGiven) {
  const TlsFiles server = MakeCertificate("server", "DNS:headrace.example");
  Serve(server);
  const absl::Status status = Call({.ca = server.cert});
  EXPECT_TRUE(IsTlsMismatch(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("tls.server_name"));
  EXPECT_EQ(Call({.ca = server.cert, .server_name = "headrace.example"}), absl::OkStatus());
}

TEST_F(CallSecurityTest, AServerWithoutTlsIsAMismatch) {
  Serve({});
  const absl::Status status = Call({.ca = MakeCertificate("server").cert});
  EXPECT_TRUE(IsTlsMismatch(status)) << status;
  EXPECT_THAT(Text(status), HasSubstr("speaks no TLS"));
}

TEST(CallSecurityFilesTest, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(Text(MakeChannelOptions({.ca = "/no/ca.pem"}, "").status()), HasSubstr("/no/ca.pem"));
  EXPECT_THAT(Text(MakeChannelOptions({}, "/no/token").status()), HasSubstr("/no/token"));
  EXPECT_THAT(Text(MakeServerSecurity({.ca = "/no/ca.pem"}, "").status()), HasSubstr("tls.ca"));
}

}  // namespace
}  // namespace headrace
