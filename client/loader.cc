#include "client/loader.h"

#include <utility>

#include "client/loader_core.h"
#include "common/status.h"

namespace headrace {

absl::StatusOr<std::unique_ptr<Loader>> Loader::Open(const v1::PipelineDef& pipeline,
                                                     const StreamOptions& options,
                                                     const ClientOptions& client, Deps deps) {
  std::shared_ptr<FrameConnector> connector = deps.connector;
  auto core = std::make_shared<LoaderCore>(pipeline, options, client, deps);
  HR_RETURN_IF_ERROR(core->Open());
  core->StartBeats();
  return std::unique_ptr<Loader>(new Loader(std::move(connector), std::move(core)));
}

Loader::~Loader() { Close(absl::Seconds(2)); }

absl::Status Loader::StartEpoch(std::optional<uint64_t> epoch, absl::Duration timeout) {
  return core_->StartEpoch(epoch, timeout);
}
absl::StatusOr<std::optional<Element>> Loader::Next(absl::Duration timeout) {
  return core_->Next(timeout);
}
void Loader::Close(absl::Duration timeout) { core_->Close(timeout); }
v1::LoaderState Loader::State() const { return core_->State(); }
absl::Status Loader::LoadStates(std::vector<v1::LoaderState> states) {
  return core_->LoadStates(std::move(states));
}
absl::Status Loader::Restore(absl::Duration timeout) { return core_->Restore(timeout); }
absl::Status Loader::SetPlace(uint32_t reader, uint32_t readers) {
  return core_->SetPlace(reader, readers);
}
absl::StatusOr<v1::OrderedPosition> Loader::position() const { return core_->position(); }
absl::Status Loader::SetPosition(const v1::OrderedPosition& position) {
  return core_->SetPosition(position);
}
uint64_t Loader::epoch() const { return core_->epoch(); }
const Schema& Loader::schema() const { return core_->schema(); }
bool Loader::batched() const { return core_->job().batched(); }
const std::string& Loader::job_name() const { return core_->job().job_name(); }
const std::string& Loader::fingerprint() const { return core_->job().fingerprint(); }
LoaderStats Loader::stats() const { return core_->stats(); }
v1::EpochSummary Loader::summary() const { return core_->summary(); }
std::string Loader::waiting() const { return core_->waiting(); }

}  // namespace headrace
