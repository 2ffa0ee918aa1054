// bench_dispatcher beats|retirement|registration: what a dispatcher with a journal carries. One
// JSON object on stdout.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "bench/dispatcher/bed.h"
#include "common/logging/logging.h"
#include "common/status.h"

int main(int argc, char** argv) {
  headrace::bench::Options options;
  CLI::App app("What a dispatcher with a journal carries");
  app.require_subcommand(1);
  app.add_option("--directory", options.directory, "of the journal; emptied first")->required();
  app.add_option("--journal", options.journal, "file or memory");
  app.add_option("--splits", options.splits);
  app.add_option("--files", options.files, "0: a range; else so many files");
  app.add_option("--workers", options.workers);
  app.add_option("--clients", options.clients);
  app.add_option("--seconds", options.seconds);
  app.add_option("--batch", options.batch, "splits that a worker leases at once");
  app.add_option("--threads", options.threads, "that play workers and clients");
  app.add_option("--connections", options.connections, "of those that beat");
  CLI::App* beats = app.add_subcommand("beats");
  CLI::App* retirement = app.add_subcommand("retirement");
  app.add_subcommand("registration");
  CLI11_PARSE(app, argc, argv);
  std::filesystem::remove_all(options.directory);
  const auto found = beats->parsed()        ? headrace::bench::MeasureBeats(options)
                     : retirement->parsed() ? headrace::bench::MeasureRetirement(options)
                                            : headrace::bench::MeasureRegistration(options);
  std::filesystem::remove_all(options.directory);
  if (!found.ok()) {
    std::fprintf(stderr, "%s\n", headrace::OneLine(found.status()).c_str());
    return 1;
  }
  std::printf("%s\n", found->dump().c_str());
  return 0;
}
