#include "dispatcher/state/snapshot.h"

#include <utility>

namespace headrace::dispatch {

void Snapshot::Add(v1::StatePart part) {
  if (items_.empty() || items_.back().dataset != nullptr || items_.back().bytes > kChunkBytes) {
    items_.emplace_back();
  }
  items_.back().bytes += part.ByteSizeLong();
  *items_.back().chunk.add_parts() = std::move(part);
}

void Snapshot::AddSplits(std::shared_ptr<const JobData> dataset) {
  if (!dataset->splits.empty()) items_.emplace_back().dataset = std::move(dataset);
}

bool Snapshot::Next(std::string& chunk) {
  if (items_.empty()) return false;
  Item& item = items_.front();
  if (item.dataset == nullptr) {
    item.chunk.SerializeToString(&chunk);
    items_.pop_front();
    return true;
  }
  v1::StateChunk piece;
  item.split = item.dataset->splits.Encode(item.split, *piece.add_parts()->mutable_splits());
  piece.SerializeToString(&chunk);
  if (item.split == item.dataset->splits.size()) items_.pop_front();
  return true;
}

}  // namespace headrace::dispatch
