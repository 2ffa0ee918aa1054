// What a function prints, on its way to the worker's log: a line each, with a prefix, at a bounded
// pace. Used by one keeper's thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "common/logging/logging.h"
#include "pipeline/udf/python_process.h"

namespace headrace::udf {

class OutputLog {
 public:
  OutputLog(std::string function, LogLevel level) : function_(std::move(function)), level_(level) {}

  // Takes what is there; never waits. The process's pipe never fills up as long as this is called.
  void Take(PythonProcess& process);
  // `why`, and the last line that said something, which is forgotten then.
  std::string WithLastWords(std::string why);

 private:
  void Line(std::string_view line, int pid);

  const std::string function_;
  const LogLevel level_;
  std::string unfinished_;
  std::string last_;
  absl::Duration window_begin_ = absl::ZeroDuration();
  uint64_t lines_ = 0;    // logged in this window
  uint64_t dropped_ = 0;  // in this window
};

}  // namespace headrace::udf
