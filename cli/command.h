// A subcommand of `headrace`: one thin file in cli/commands/ that declares its flags and runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace headrace {

class Command {
 public:
  virtual ~Command() = default;
  // Adds flags and positionals to `app`, bound to members. Called once, before Run.
  virtual void Declare(CLI::App& app) = 0;
  // Does the work on the main thread. OK: exit code 0. Otherwise the status is printed as one line
  // on stderr, exit code 1; INVALID_ARGUMENT about flags made with UsageError(): exit code 2.
  virtual absl::Status Run() = 0;
};

// Marks a wrong combination of flags, found after parsing.
absl::Status UsageError(std::string message);
bool IsUsageError(const absl::Status& status);

struct CommandEntry {
  std::string name;
  std::string help;
  std::function<std::unique_ptr<Command>()> make;
};

class CommandList {
 public:
  template <typename C>
  void Add(std::string name, std::string help) {
    entries_.push_back({std::move(name), std::move(help), [] { return std::make_unique<C>(); }});
  }
  const std::vector<CommandEntry>& entries() const { return entries_; }

 private:
  std::vector<CommandEntry> entries_;
};

// Every command of cli/commands/ (generated).
void RegisterAll_commands(CommandList& commands);

}  // namespace headrace
