// The C++ client: connect to a dispatcher, stream pipelines from its cluster.
//
//   HR_ASSIGN_OR_RETURN(auto client, Client::Connect("dispatcher:5050"));
//   HR_ASSIGN_OR_RETURN(auto loader, client->Stream(pipeline, {.job = "train"}));
//   HR_RETURN_IF_ERROR(loader->StartEpoch());
//   while (true) {
//     HR_ASSIGN_OR_RETURN(std::optional<Element> batch, loader->Next(absl::Minutes(5)));
//     if (!batch) break;
//     Train(batch->at(0));
//   }
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/loader.h"
#include "client/stream_options.h"
#include "rpc/dispatcher_client.h"

namespace headrace {

// Thread-safe. Loaders may outlive it.
class Client {
 public:
  // `address` may name several dispatchers, "a:5050,b:5050", of which one leads. UNAVAILABLE when
  // no dispatcher answers within options.connect_timeout; the message names the address.
  // INVALID_ARGUMENT when options.transport names none.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& address,
                                                         const ClientOptions& options = {});

  absl::StatusOr<std::unique_ptr<Loader>> Stream(const v1::PipelineDef& pipeline,
                                                 const StreamOptions& options);

  DispatcherClient& dispatcher() { return *dispatcher_; }
  const std::string& address() const { return address_; }

 private:
  Client(std::string address, const ClientOptions& options,
         std::shared_ptr<DispatcherClient> dispatcher, std::shared_ptr<FrameConnector> connector);
  const std::string address_;
  const ClientOptions options_;
  std::shared_ptr<DispatcherClient> dispatcher_;
  std::shared_ptr<FrameConnector> connector_;
};

}  // namespace headrace
