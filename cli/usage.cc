#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "common/nearest.h"
#include "fmt/core.h"

namespace headrace {
namespace {

bool IsFlag(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string DidYouMean(const std::string& nearest) {
  return fmt::format("did you mean '{}'?", nearest);
}

}  // namespace

std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const CLI::App& at = parsed.empty() ? app : *parsed.front();
  const std::string called = parsed.empty() ? app.get_name() : "headrace " + at.get_name();
  const std::vector<std::string> extras = at.remaining();
  // A flag first: the words behind an unknown flag are most likely its value.
  auto extra = std::find_if(extras.begin(), extras.end(), IsFlag);
  if (extra != extras.end()) {
    const std::string flag = extra->substr(0, extra->find('='));
    const std::string nearest = NearestWord(flag, FlagNames(at));
    return fmt::format(
        "unknown flag '{}' of {}; {}", flag, called,
        nearest.empty() ? fmt::format("{} --help lists the flags", called) : DidYouMean(nearest));
  }
  if (!extras.empty() && parsed.empty()) {
    const std::vector<std::string> names = CommandNames(app);
    const std::string nearest = NearestWord(extras.front(), names);
    if (!nearest.empty())
      return fmt::format("unknown command '{}'; {}", extras.front(), DidYouMean(nearest));
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return fmt::format("unknown command '{}'; the commands are {}", extras.front(), list);
  }
  if (!extras.empty())
    return fmt::format("{}: unexpected argument '{}'; {} --help shows the usage", called,
                       extras.front(), called);
  return fmt::format("{}; {} --help shows the usage", error.what(), called);
}

}  // namespace headrace
