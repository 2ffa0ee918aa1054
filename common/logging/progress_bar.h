// One line on a terminal that shows how far some work is: "epoch 1 [=====>    ]  45%  1.2k
// records/s  ETA 0:09". Where the output is no terminal (a file, a pipe, CI) it writes nothing.
// Used by one thread; kept by a command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/clock.h"

namespace headrace {

// What a line says. Pure, for tests.
struct ProgressState {
  std::string_view label;
  std::string_view unit;  // "records"; "bytes" are shown as KiB, MiB, ...
  int64_t done = 0;
  std::optional<int64_t> total;  // unknown: no bar, no ETA
  double per_second = 0;
};
std::string ProgressLine(const ProgressState& state, size_t columns);

class ProgressBar {
 public:
  struct Options {
    std::string label = {};
    std::string unit = "records";
    std::optional<int64_t> total = {};
    int fd = 2;
  };

  explicit ProgressBar(Options options, const Clock& clock = RealClock());
  ~ProgressBar();  // Finish()
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Cheap enough per batch: draws ten times a second at most.
  void Update(int64_t done);
  void SetTotal(int64_t total) { options_.total = total; }

  // Leaves the last line with the mean rate. Later updates do nothing.
  void Finish();

  bool shown() const { return shown_; }

 private:
  void Draw(double per_second);

  Options options_;
  const Clock& clock_;
  const bool shown_;
  const absl::Duration start_;
  absl::Duration drawn_at_;
  int64_t drawn_done_ = 0;
  int64_t done_ = 0;
  double recent_per_second_ = 0;
  bool finished_ = false;
};

}  // namespace headrace
