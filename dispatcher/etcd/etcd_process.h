// A real etcd of one member on loopback, for tests: started, frozen, killed, started again over the
// same data. No binary links it. A machine without /usr/bin/etcd (Debian: etcd-server) skips, and
// says so.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/clock.h"
#include "dispatcher/etcd/grpc_etcd_client.h"
#include "fmt/format.h"

extern char** environ;

namespace headrace {

#define HR_NEEDS_ETCD()                                                                         \
  if (!std::filesystem::exists(EtcdProcess::kBinary)) {                                         \
    GTEST_SKIP() << EtcdProcess::kBinary                                                        \
                 << " is missing: apt-get install etcd-server; against a real etcd NOT tested"; \
  }

class EtcdProcess {
 public:
  static constexpr char kBinary[] = "/usr/bin/etcd";

  EtcdProcess()
      : directory_(std::string(testing::TempDir()) +
                   fmt::format("/hr_etcd_{}_{}", getpid(), ++count())),
        client_(FreePort()),
        peer_(FreePort(client_)) {
    std::filesystem::create_directories(directory_);
    Start();
  }
  ~EtcdProcess() {
    Kill();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  std::string endpoint() const { return fmt::format("127.0.0.1:{}", client_); }
  std::unique_ptr<EtcdClient> Dial() { return DialEtcd({endpoint()}, {}, RealClock()).value(); }
  void Send(int signal_number) { kill(pid_, signal_number); }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  // Returns when it answers.
  void Start() {
    const std::string url = fmt::format("http://{}", endpoint());
    const std::string peer = fmt::format("http://127.0.0.1:{}", peer_);
    const std::vector<std::string> words = {kBinary,
                                            "--data-dir",
                                            directory_ + "/data",
                                            "--listen-client-urls",
                                            url,
                                            "--advertise-client-urls",
                                            url,
                                            "--listen-peer-urls",
                                            peer,
                                            "--initial-advertise-peer-urls",
                                            peer,
                                            "--initial-cluster",
                                            "default=" + peer,
                                            "--log-level",
                                            "error",
                                            "--logger",
                                            "zap",
                                            "--log-outputs",
                                            directory_ + "/log"};
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ASSERT_EQ(posix_spawn(&pid_, kBinary, nullptr, nullptr, arguments.data(), environ), 0);
    const auto client = Dial();
    etcd::RangeRequest request;
    request.set_key("up?");
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    absl::Status status;
    do {
      ASSERT_LT(absl::Now(), give_up)
          << "etcd does not answer: " << status << "; see " << directory_ << "/log";
      absl::SleepFor(absl::Milliseconds(20));
      status = client->Range(request, absl::Seconds(1)).status();
    } while (!status.ok());
  }

 private:
  static int& count() {
    static int count = 0;
    return count;
  }
  // Below the ports that the kernel hands to connections: one that tries a port of those before
  // etcd listens there may be given the same port, and is then connected to itself.
  static int FreePort(int other = 0) {
    std::mt19937 random(std::random_device{}());
    while (true) {
      const int port = std::uniform_int_distribution<int>(15000, 29999)(random);
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(static_cast<uint16_t>(port));
      const bool free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
      close(fd);
      if (free && port != other) return port;
    }
  }

  const std::string directory_;
  const int client_;
  const int peer_;
  pid_t pid_ = 0;
};

}  // namespace headrace
