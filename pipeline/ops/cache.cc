// cache: where rows may be kept between epochs and shared by jobs. The step itself lets rows
// through; the engine takes them from the worker's cache instead of making them where it can
// (docs/caching.md).
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

constexpr int64_t kMaxVariants = 1 << 20;

struct CacheParams {
  std::string tier = "auto";
  int64_t variants = 0;
  std::string key;
};

struct PlacedParams {
  std::string tier = "auto";
  std::string key;
};
struct PassedParams {};

class Cache final : public StatelessOp {
 public:
  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }
  absl::Status Run(Block&, const StepContext&) const override { return absl::OkStatus(); }
};

absl::StatusOr<std::unique_ptr<Op>> Make(const CacheParams& params) {
  if (params.tier != "auto" && params.tier != "memory" && params.tier != "disk") {
    return InvalidArgument("tier: expected auto, memory or disk, got '{}'", params.tier);
  }
  if (params.variants < 0 || params.variants > kMaxVariants) {
    return InvalidArgument("variants: expected 0 to {}, got {}", kMaxVariants, params.variants);
  }
  return std::make_unique<Cache>();
}

}  // namespace

void Register_cache(OpRegistry& registry) {
  ParamSet<CacheParams> params;
  params
      .Optional("tier", &CacheParams::tier,
                "where rows are kept: auto (memory, then disk), memory or disk, as far as the "
                "worker has them")
      .Optional(
          "variants", &CacheParams::variants,
          "random steps in front of it draw as in epoch e mod VARIANTS; 0: there must be none")
      .Optional("key", &CacheParams::key,
                "a word that stands for the code of imported Python functions in front of it: "
                "change it when they change");
  registry.Add<CacheParams>(
      "cache", "Rows that get here are kept by the workers, so that later epochs begin here.",
      std::move(params), [](CacheParams p) { return Make(p); });

  // What becomes of it where rows are kept elsewhere: the one place, and the other.
  ParamSet<PlacedParams> placed;
  placed.Optional("tier", &PlacedParams::tier, "of cache")
      .Optional("key", &PlacedParams::key, "of cache");
  registry
      .Add<PlacedParams>(
          "_placed_cache", "A cache where the pipeline has none.", std::move(placed),
          [](PlacedParams p) { return Make({.tier = p.tier, .variants = 0, .key = p.key}); })
      .internal = true;
  registry
      .Add<PassedParams>("_passed_cache", "A cache that keeps nothing.", ParamSet<PassedParams>(),
                         [](PassedParams) { return Make(CacheParams()); })
      .internal = true;
}

}  // namespace headrace
