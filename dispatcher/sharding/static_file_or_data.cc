// STATIC by file where there are at least as many files as slots, else by data.
#include "dispatcher/sharding/policy.h"

namespace headrace::dispatch {
namespace {

class StaticFileOrDataPolicy final : public ShardingPolicy {
 public:
  std::string_view name() const override { return "static_file_or_data"; }
  std::vector<v1::LaneDef> Lanes(const JobData& dataset, uint32_t slots) const override {
    return (dataset.files >= slots ? by_file_ : by_data_)->Lanes(dataset, slots);
  }
  std::vector<Placement> Place(const Epoch& epoch,
                               std::span<const Candidate> workers) const override {
    return PlaceOnFreeLanes(epoch, workers);
  }

 private:
  const std::unique_ptr<ShardingPolicy> by_file_ = MakeStaticFilePolicy();
  const std::unique_ptr<ShardingPolicy> by_data_ = MakeStaticDataPolicy();
};

}  // namespace

std::unique_ptr<ShardingPolicy> MakeStaticFileOrDataPolicy() {
  return std::make_unique<StaticFileOrDataPolicy>();
}

}  // namespace headrace::dispatch
