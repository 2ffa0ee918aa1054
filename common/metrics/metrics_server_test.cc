#include "common/metrics/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>

#include "absl/synchronization/mutex.h"
#include "common/status.h"

namespace headrace {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// By another HTTP client than our own code: Python's.
std::string Fetch(const MetricsServer& server, const std::string& path) {
  const std::string command = fmt::format(
      "/usr/bin/python3 -c \"import http.client as h; c = h.HTTPConnection('127.0.0.1', {}); "
      "c.request('GET', '{}'); r = c.getresponse(); "
      "print(r.status, r.headers['content-type']); print(r.read().decode(), end='')\"",
      server.address().port, path);
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    out.append(buffer, got);
  }
  ::pclose(pipe);
  return out;
}

TEST(MetricsServerTest, ServesMetricsAndHealth) {
  Metrics metrics("worker");
  metrics.AddCounter("headrace_elements_total", "elements")->Add(5);
  absl::Mutex mutex;
  absl::Status health = absl::OkStatus();
  auto server = MetricsServer::Start("127.0.0.1:0", "metrics.listen", metrics, [&] {
    absl::MutexLock lock(&mutex);
    return health;
  });
  ASSERT_TRUE(server.ok()) << OneLine(server.status());
  const std::string text = Fetch(**server, "/metrics");
  EXPECT_THAT(text, HasSubstr("200 text/plain; version=0.0.4"));
  EXPECT_THAT(text, HasSubstr("headrace_elements_total{role=\"worker\"} 5\n"));
  EXPECT_THAT(Fetch(**server, "/healthz"), EndsWith("ok\n"));
  {
    absl::MutexLock lock(&mutex);
    health = Unavailable("no dispatcher for 30s");
  }
  const std::string ill = Fetch(**server, "/healthz");
  EXPECT_THAT(ill, HasSubstr("503 "));
  EXPECT_THAT(ill, EndsWith("UNAVAILABLE: no dispatcher for 30s\n"));
  EXPECT_THAT(Fetch(**server, "/"), HasSubstr("404 "));
}

TEST(MetricsServerTest, ReadyIsHealthyAndAtWork) {
  Metrics metrics;
  std::atomic<bool> well = true;
  std::atomic<bool> at_work = false;
  auto server = MetricsServer::Start(
      "127.0.0.1:0", "metrics.listen", metrics,
      [&] { return well ? absl::OkStatus() : Unavailable("ill"); },
      [&] { return at_work ? absl::OkStatus() : Unavailable("not registered"); });
  ASSERT_TRUE(server.ok()) << OneLine(server.status());
  EXPECT_THAT(Fetch(**server, "/healthz"), EndsWith("ok\n"));
  EXPECT_THAT(Fetch(**server, "/readyz"), EndsWith("UNAVAILABLE: not registered\n"));
  at_work = true;
  EXPECT_THAT(Fetch(**server, "/readyz"), EndsWith("ok\n"));
  well = false;
  EXPECT_THAT(Fetch(**server, "/readyz"), EndsWith("UNAVAILABLE: ill\n"));
}

TEST(MetricsServerTest, ATakenPortNamesTheSetting) {
  Metrics metrics;
  auto first = MetricsServer::Start("127.0.0.1:0", "metrics.listen", metrics);
  ASSERT_TRUE(first.ok());
  const absl::Status second =
      MetricsServer::Start((*first)->address().ToString(), "metrics.listen", metrics).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr("set metrics.listen to another port"));
}

}  // namespace
}  // namespace headrace
