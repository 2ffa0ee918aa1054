#include "common/http/http_client.h"

#include "common/http/http_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

class HttpClientTest : public ::testing::Test {
 protected:
  HttpClientTest() {
    server_ = *HttpServer::Start({}, [](const HttpRequest& request) -> HttpResponse {
      if (request.path == "/large") return {.body = std::string(3 << 20, 'x')};
      if (request.path == "/missing") return {.status = 404, .body = "no such thing"};
      return {.body = request.method + " " + request.path + " " + request.authorization + " " +
                      request.body};
    });
  }
  std::string url() const { return "http://" + server_->address().ToString(); }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpClientTest, ACallHasItsAnswer) {
  const auto client = HttpClient::Make({.url = url()});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto answer = (*client)->Call(
      {.method = "PATCH", .target = "/a", .headers = {{"Authorization", "Bearer t"}}, .body = "b"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "PATCH /a Bearer t b");
  EXPECT_EQ((*client)->Call({.target = "/missing"})->status, 404);
}

TEST_F(HttpClientTest, AnAnswerThatIsTooLargeIsRefused) {
  const auto client = HttpClient::Make({.url = url()});
  EXPECT_EQ((*client)->Call({.target = "/large"}).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(HttpClientTest, AServerThatIsAwayIsNamed) {
  const std::string gone = url();
  server_ = nullptr;
  const auto status = (*HttpClient::Make({.url = gone}))->Call({.target = "/a"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("GET " + gone + "/a: connect:"));
}

TEST(HttpClientUrlTest, WhatIsNoUrlIsRefused) {
  for (const char* url : {"", "10.0.0.1:443", "ftp://a", "http://", "https://host/path"})
    EXPECT_EQ(HttpClient::Make({.url = url}).status().code(), absl::StatusCode::kInvalidArgument)
        << url;
  EXPECT_FALSE(HttpClient::Make({.url = "https://a", .ca_file = "/nowhere.pem"}).ok());
}

}  // namespace
}  // namespace headrace
