// The one binary. Parses the command line, runs one command, turns its status into one line and an
// exit code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "cli/command.h"
#include "cli/usage.h"
#include "common/fault_points.h"
#include "common/status.h"

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  // The message says what, where and what to do; the code's name only adds noise for a person.
  std::string message(status.message());
  for (char& c : message) {
    if (c == '\n') c = ' ';
  }
  std::fprintf(stderr, "headrace: %s\n", message.c_str());
  return headrace::IsUsageError(status) ? kUsage : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef NDEBUG
  // Debian's Abseil looks for cycles in the order of locks at every lock: for development.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
  CLI::App app("Headrace: disaggregated data preprocessing for machine-learning training",
               "headrace");
  app.require_subcommand(1);
  app.set_version_flag("--version", "headrace " HEADRACE_VERSION);

  headrace::CommandList commands;
  headrace::RegisterAll_commands(commands);
  std::vector<std::pair<CLI::App*, std::unique_ptr<headrace::Command>>> declared;
  for (const headrace::CommandEntry& entry : commands.entries()) {
    CLI::App* sub = app.add_subcommand(entry.name, entry.help);
    declared.emplace_back(sub, entry.make());
    declared.back().second->Declare(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::fprintf(stderr, "headrace: %s\n", headrace::UsageMessage(app, error).c_str());
    return kUsage;
  }
  // For tests of what happens when things go wrong (common/fault_points.h).
  if (const char* faults = std::getenv("HEADRACE_FAULTS")) {
    if (absl::Status armed = headrace::ArmFaults(faults); !armed.ok()) return Report(armed);
  }
  for (auto& [sub, command] : declared) {
    if (sub->parsed()) return Report(command->Run());
  }
  return kUsage;
}
