#include "common/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

#include "absl/time/clock.h"
#include "common/status.h"

namespace headrace {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A peer that sends bytes as they are and reads until the server closes (at most 20 s).
class RawPeer {
 public:
  explicit RawPeer(const HttpServer& server) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.address().port);
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~RawPeer() { ::close(socket_); }

  void Send(const std::string& bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  std::string ReadUntil(const std::string& end) {
    std::string out;
    char buffer[4096];
    pollfd ready{socket_, POLLIN, 0};
    while ((end.empty() || !out.ends_with(end)) && ::poll(&ready, 1, 20'000) > 0) {
      const ssize_t got = ::recv(socket_, buffer, sizeof(buffer), 0);
      if (got <= 0) break;
      out.append(buffer, static_cast<size_t>(got));
    }
    return out;
  }
  std::string ReadAll() { return ReadUntil(""); }

 private:
  const int socket_;
};

std::unique_ptr<HttpServer> Echo(HttpServer::Options options = {}) {
  auto server = HttpServer::Start(std::move(options), [](const HttpRequest& r) -> HttpResponse {
    if (r.path == "/throw") throw std::runtime_error("boom");
    if (r.path == "/missing") return {.status = 404, .body = "no such page\n"};
    return {.body = fmt::format("{} {} ?{} auth={} body={}\n", r.method, r.path, r.query,
                                r.authorization, r.body)};
  });
  EXPECT_TRUE(server.ok()) << OneLine(server.status());
  return *std::move(server);
}

std::string Get(const HttpServer& server, const std::string& target) {
  RawPeer peer(server);
  peer.Send("GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return peer.ReadAll();
}

TEST(HttpServerTest, ARequestReachesTheHandlerWhole) {
  const auto server = Echo();
  EXPECT_NE(server->address().port, 0);
  RawPeer peer(*server);
  peer.Send(
      "POST /a/b?c=1&d=2 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n"
      "Connection: close\r\nContent-Length: 5\r\n\r\nhello");
  const std::string answer = peer.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, EndsWith("POST /a/b ?c=1&d=2 auth=Bearer t body=hello\n"));
}

TEST(HttpServerTest, AConnectionIsKeptForTheNextRequest) {
  const auto server = Echo();
  RawPeer peer(*server);
  for (int i = 0; i < 3; ++i) {
    peer.Send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(peer.ReadUntil("body=\n"), HasSubstr("GET /x"));
  }
}

TEST(HttpServerTest, HeadHasTheLengthButNoBody) {
  const auto server = Echo();
  RawPeer peer(*server);
  peer.Send("HEAD /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = peer.ReadAll();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 22\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST(HttpServerTest, StatusesComeThroughAndAThrowIsA500) {
  const auto server = Echo();
  EXPECT_THAT(Get(*server, "/missing"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  testing::internal::CaptureStderr();
  EXPECT_THAT(Get(*server, "/throw"), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("GET /throw threw: boom"));
}

TEST(HttpServerTest, WhatIsTooLargeOrNoHttpIsAnswered) {
  const auto server = Echo({.max_body_bytes = 10});
  RawPeer large(*server);
  large.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n");
  EXPECT_THAT(large.ReadAll(), StartsWith("HTTP/1.1 413 "));
  RawPeer headers(*server);
  headers.Send("GET / HTTP/1.1\r\nX: " + std::string(17'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(headers.ReadAll(), StartsWith("HTTP/1.1 413 "));
  RawPeer garbage(*server);
  garbage.Send("\x16\x03\x01 this is TLS perhaps\r\n\r\n");
  EXPECT_THAT(garbage.ReadAll(), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Get(*server, "/still-there"), HasSubstr("GET /still-there"));
}

TEST(HttpServerTest, MoreConnectionsThanAllowedAreClosedAtOnce) {
  const auto server = Echo({.max_connections = 2});
  RawPeer a(*server), b(*server);
  a.Send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(a.ReadUntil("body=\n"), "");
  b.Send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(b.ReadUntil("body=\n"), "");
  RawPeer c(*server);
  EXPECT_EQ(c.ReadAll(), "");
}

TEST(HttpServerTest, ATakenPortSaysWhatToDo) {
  const auto server = Echo();
  const absl::Status status =
      HttpServer::Start({.listen = server->address().ToString(), .setting = "metrics.listen"},
                        [](const HttpRequest&) { return HttpResponse{}; })
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(status.message()),
            server->address().ToString() +
                " is in use by another process; set metrics.listen to another port, or to port 0 "
                "to have a free one chosen");
}

TEST(HttpServerTest, AnAddressThatIsNotOursIsRefused) {
  for (const char* listen : {"192.0.2.1:0", "no such host:1", "unix:/tmp/x", "127.0.0.1"}) {
    const absl::Status status = HttpServer::Start({.listen = listen}, [](const HttpRequest&) {
                                  return HttpResponse{};
                                }).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << listen << OneLine(status);
  }
}

TEST(HttpServerTest, SilentAndSlowPeersDoNotHoldUpShutdown) {
  auto server = Echo();
  RawPeer silent(*server), half(*server), idle(*server);
  half.Send("GET / HT");
  idle.Send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(idle.ReadUntil("body=\n"), "");
  const absl::Time start = absl::Now();
  server.reset();
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST(HttpServerTest, AFreedPortCanBeTakenAgainAtOnce) {
  auto server = Echo();
  const std::string listen = server->address().ToString();
  EXPECT_NE(Get(*server, "/x"), "");
  server.reset();
  server = Echo({.listen = listen});
  EXPECT_EQ(server->address().ToString(), listen);
}

}  // namespace
}  // namespace headrace
