#include "dispatcher/state/client_table.h"

#include "common/status.h"

namespace headrace::dispatch {

absl::Status ClientTable::Join(const v1::ClientJoined& event, uint64_t first_epoch) {
  if (by_uid_.contains(event.uid())) return AlreadyExists("client uid {} is live", event.uid());
  Client client;
  client.id = ClientId(event.client());
  client.job = JobId(event.job());
  client.uid = event.uid();
  client.rank = event.rank();
  client.host = event.host();
  client.world_size = event.world_size();
  client.first_epoch = first_epoch;
  by_uid_[client.uid] = client.id;
  clients_[client.id] = std::move(client);
  return absl::OkStatus();
}

absl::Status ClientTable::Enter(ClientId id, uint64_t epoch) {
  const auto it = clients_.find(id);
  if (it == clients_.end()) return NotFound("no client {}", id.value);
  it->second.last_epoch = epoch;
  return absl::OkStatus();
}

absl::Status ClientTable::Leave(ClientId id) {
  const auto it = clients_.find(id);
  if (it == clients_.end()) return NotFound("no client {}", id.value);
  by_uid_.erase(it->second.uid);
  clients_.erase(it);
  return absl::OkStatus();
}

void ClientTable::Restart(ClientId id, uint64_t epoch) {
  const auto it = clients_.find(id);
  if (it == clients_.end()) return;
  it->second.first_epoch = epoch;
  it->second.last_epoch.reset();
}

void ClientTable::Keep(const Client& client, v1::KeptClient& kept) {
  v1::ClientJoined& joined = *kept.mutable_joined();
  joined.set_client(client.id.value);
  joined.set_job(client.job.value);
  joined.set_uid(client.uid);
  joined.set_rank(client.rank);
  joined.set_host(client.host);
  joined.set_world_size(client.world_size);
  kept.set_first_epoch(client.first_epoch);
  kept.set_has_last_epoch(client.last_epoch.has_value());
  kept.set_last_epoch(client.last_epoch.value_or(0));
}

absl::Status ClientTable::Reload(const v1::KeptClient& kept) {
  HR_RETURN_IF_ERROR(Join(kept.joined(), kept.first_epoch()));
  if (!kept.has_last_epoch()) return absl::OkStatus();
  return Enter(ClientId(kept.joined().client()), kept.last_epoch());
}

const Client* ClientTable::Find(ClientId id) const {
  const auto it = clients_.find(id);
  return it == clients_.end() ? nullptr : &it->second;
}

const Client* ClientTable::FindByUid(uint64_t uid) const {
  const auto it = by_uid_.find(uid);
  return it == by_uid_.end() ? nullptr : Find(it->second);
}

}  // namespace headrace::dispatch
