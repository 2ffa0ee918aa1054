// What a wrong command line is told: one line with the wrong word, the nearest right one, and where
// the right ones are listed.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace headrace {

// For an error that app.parse(argc, argv) threw. Looks at what `app` had parsed until then; main
// thread.
std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error);

}  // namespace headrace
