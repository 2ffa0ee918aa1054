#include "common/fault_points.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/status.h"

namespace headrace {
namespace fault_internal {

std::atomic<int> armed = 0;

struct Fault {
  std::string name;
  FaultAction action;
  FaultWindow window;
  std::atomic<int64_t> hits = 0;
};

namespace {

struct Table {
  absl::Mutex mutex;
  std::vector<std::shared_ptr<Fault>> faults ABSL_GUARDED_BY(mutex);
};

Table& TheTable() {
  static Table* table = new Table;  // never destroyed: points are hit while the process exits
  return *table;
}

void Arm(std::shared_ptr<Fault> fault) {
  Table& table = TheTable();
  absl::MutexLock lock(&table.mutex);
  table.faults.push_back(std::move(fault));
  armed.fetch_add(1);
}

void Disarm(const std::shared_ptr<Fault>& fault) {
  Table& table = TheTable();
  absl::MutexLock lock(&table.mutex);
  table.faults.erase(std::find(table.faults.begin(), table.faults.end(), fault));
  armed.fetch_sub(1);
}

}  // namespace

absl::Status Hit(std::string_view name) {
  std::vector<std::shared_ptr<Fault>> due;
  {
    Table& table = TheTable();
    absl::MutexLock lock(&table.mutex);
    for (const std::shared_ptr<Fault>& fault : table.faults) {
      if (fault->name != name) continue;
      const int64_t hit = fault->hits.fetch_add(1) + 1;
      if (hit >= fault->window.first && hit - fault->window.first < fault->window.times) {
        due.push_back(fault);
      }
    }
  }
  for (const std::shared_ptr<Fault>& fault : due) HR_RETURN_IF_ERROR(fault->action());
  return absl::OkStatus();
}

}  // namespace fault_internal

FaultAction FailWith(absl::Status status) {
  return [status = std::move(status)] { return status; };
}

FaultAction Delay(absl::Duration duration) {
  return [duration] {
    absl::SleepFor(duration);
    return absl::OkStatus();
  };
}

FaultAction Crash() {
  return [] {
    ::kill(::getpid(), SIGKILL);
    return absl::OkStatus();
  };
}

ScopedFault::ScopedFault(std::string name, FaultAction action, FaultWindow window)
    : fault_(std::make_shared<fault_internal::Fault>()) {
  fault_->name = std::move(name);
  fault_->action = std::move(action);
  fault_->window = window;
  fault_internal::Arm(fault_);
}

ScopedFault::~ScopedFault() { fault_internal::Disarm(fault_); }

int64_t ScopedFault::hits() const { return fault_->hits; }

namespace {

std::optional<absl::StatusCode> CodeNamed(std::string_view name) {
  for (int code = 1; code <= 16; ++code) {
    const auto candidate = static_cast<absl::StatusCode>(code);
    if (absl::StatusCodeToString(candidate) == name) return candidate;
  }
  return std::nullopt;
}

absl::StatusOr<FaultAction> ParseAction(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 2));
  if (parts[0] == "crash" && parts.size() == 1) return Crash();
  if (parts[0] == "delay" && parts.size() == 2) {
    absl::Duration duration;
    if (!absl::ParseDuration(parts[1], &duration) || duration < absl::ZeroDuration() ||
        duration == absl::InfiniteDuration()) {
      return InvalidArgument("'{}' is no duration such as 50ms", parts[1]);
    }
    return Delay(duration);
  }
  if (parts[0] == "fail" && parts.size() >= 2) {
    const std::optional<absl::StatusCode> code = CodeNamed(parts[1]);
    if (!code) return InvalidArgument("'{}' is no status code such as UNAVAILABLE", parts[1]);
    return FailWith(absl::Status(*code, parts.size() == 3 ? parts[2] : "injected fault"));
  }
  return InvalidArgument("'{}' is none of fail:CODE:MESSAGE, delay:DURATION, crash", text);
}

// Takes "`mark`N" off the end of `name`, if it is there, into `out`.
absl::Status TakeCount(char mark, std::string& name, int64_t& out) {
  const size_t at = name.rfind(mark);
  if (at == std::string::npos) return absl::OkStatus();
  if (!absl::SimpleAtoi(name.substr(at + 1), &out) || out < 1) {
    return InvalidArgument("'{}' is no count from 1", name.substr(at));
  }
  name.resize(at);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<fault_internal::Fault>> ParseFault(const std::string& entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string::npos) return InvalidArgument("no '=' in it");
  auto fault = std::make_shared<fault_internal::Fault>();
  fault->name = entry.substr(0, equals);
  HR_RETURN_IF_ERROR(TakeCount('*', fault->name, fault->window.times));
  HR_RETURN_IF_ERROR(TakeCount('@', fault->name, fault->window.first));
  if (fault->name.empty()) return InvalidArgument("the fault point's name is empty");
  HR_ASSIGN_OR_RETURN(fault->action, ParseAction(entry.substr(equals + 1)));
  return fault;
}

}  // namespace

absl::Status ArmFaults(std::string_view spec) {
  std::vector<std::shared_ptr<fault_internal::Fault>> faults;
  const std::vector<std::string> entries =
      absl::StrSplit(absl::string_view(spec.data(), spec.size()), ';');
  for (const std::string& raw : entries) {
    const std::string entry(absl::StripAsciiWhitespace(raw));
    if (entry.empty()) continue;
    auto fault = ParseFault(entry);
    if (!fault.ok()) {
      return Annotate(fault.status(), fmt::format("HEADRACE_FAULTS: '{}'", entry));
    }
    faults.push_back(*std::move(fault));
  }
  for (std::shared_ptr<fault_internal::Fault>& fault : faults) {
    fault_internal::Arm(std::move(fault));
  }
  return absl::OkStatus();
}

}  // namespace headrace
