// The clients of all jobs: a client is one reader object of one job. Part of State.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "headrace/v1/journal.pb.h"

namespace headrace::dispatch {

struct Client {
  ClientId id;
  JobId job;
  uint64_t uid = 0;
  uint32_t rank = 0;
  std::string host;
  uint32_t world_size = 0;
  uint64_t first_epoch = 0;            // the job's next or running one when it joined
  std::optional<uint64_t> last_epoch;  // that it began
};

class ClientTable {
 public:
  absl::Status Join(const v1::ClientJoined& event, uint64_t first_epoch);
  absl::Status Enter(ClientId id, uint64_t epoch);
  absl::Status Leave(ClientId id);
  // Its job goes on from a checkpoint with `epoch`: it has begun none of this life.
  void Restart(ClientId id, uint64_t epoch);

  // For snapshots.
  static void Keep(const Client& client, v1::KeptClient& kept);
  absl::Status Reload(const v1::KeptClient& kept);

  const Client* Find(ClientId id) const;
  const Client* FindByUid(uint64_t uid) const;
  const std::map<ClientId, Client>& all() const { return clients_; }

 private:
  std::map<ClientId, Client> clients_;
  absl::flat_hash_map<uint64_t, ClientId> by_uid_;
};

}  // namespace headrace::dispatch
