// A dispatcher with a journal on a real port, for measurements: what its workers and clients say is
// made up, the calls are real gRPC on loopback, the journal is real.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dispatcher/server.h"
#include "nlohmann/json.hpp"
#include "pipeline/catalog/catalog.h"
#include "rpc/dispatcher_client.h"

namespace headrace::bench {

struct Options {
  std::string directory;  // of the journal
  std::string journal = "file";
  uint64_t splits = 10'000'000;
  uint64_t files = 0;  // 0: a `range` of so many splits; else files with paths
  uint64_t workers = 2000;
  uint64_t clients = 500;
  double seconds = 10;
  uint64_t batch = 256;  // leases of a request
  uint64_t threads = 8;
  uint64_t connections = 16;  // of beats
};

// Starts a dispatcher over options.directory.
absl::StatusOr<std::unique_ptr<Dispatcher>> StartDispatcher(const Options& options,
                                                            const Catalog& catalog);
// A connection of its own (gRPC shares one among channels of equal settings).
std::shared_ptr<grpc::Channel> MakeChannel(const Dispatcher& dispatcher, int number);
std::unique_ptr<DispatcherClient> ClientOver(const Dispatcher& dispatcher,
                                             std::shared_ptr<grpc::Channel> channel);
std::unique_ptr<DispatcherClient> Connect(const Dispatcher& dispatcher, int number);

v1::OpenJobRequest OpenRequest(const Options& options, uint64_t uid);

// The measurements; each starts its own dispatcher, and says what it found as JSON.
absl::StatusOr<nlohmann::json> MeasureBeats(const Options& options);
absl::StatusOr<nlohmann::json> MeasureRetirement(const Options& options);
absl::StatusOr<nlohmann::json> MeasureRegistration(const Options& options);

// Of this process, simulated peers and all.
double PeakMebibytes();
double CpuSeconds();

}  // namespace headrace::bench
