// sleep: take some time per row, without computing. Stands for costly work where many workers share
// few cores: benchmarks and tests of the fleet.
#include <time.h>

#include <cerrno>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

constexpr double kMostSeconds = 60;

struct SleepParams {
  double seconds = 0;
};

class Sleep final : public StatelessOp {
 public:
  explicit Sleep(SleepParams params) : params_(params) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }

  // Once for all rows of the block: a sleep is never shorter than asked for, and may be longer.
  absl::Status Run(Block& block, const StepContext&) const override {
    const double seconds = params_.seconds * static_cast<double>(block.rows());
    timespec left;
    left.tv_sec = static_cast<time_t>(seconds);
    left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * 1e9);
    while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
    return absl::OkStatus();
  }

 private:
  const SleepParams params_;
};

}  // namespace

void Register_sleep(OpRegistry& registry) {
  ParamSet<SleepParams> params;
  params.Required("seconds", &SleepParams::seconds, "per row, 0 to 60");
  registry
      .Add<SleepParams>(
          "sleep", "Take some time per row without computing: stands for costly work in tests.",
          std::move(params),
          [](SleepParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
            if (!(p.seconds >= 0 && p.seconds <= kMostSeconds)) {
              return InvalidArgument("seconds {} is not between 0 and {}", p.seconds, kMostSeconds);
            }
            return std::make_unique<Sleep>(p);
          })
      .bare_param = "seconds";
}

}  // namespace headrace
