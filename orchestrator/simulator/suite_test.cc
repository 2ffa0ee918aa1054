#include "orchestrator/simulator/suite.h"

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

class Three final : public Suite {
 public:
  std::string_view name() const override { return "three"; }
  std::string_view help() const override { return "for this test"; }
  absl::StatusOr<Report> Run(const SimulateOptions& options) const override {
    if (options.traces == 0) return absl::InvalidArgumentError("no traces");
    Report report;
    report.rows = {AtLeast("speed", 9, "rows/s", {"theirs", 10}, 0.95),
                   AtMost("waste", 2, "s", {"theirs", 10}, 2), Figure("calm", 1, "", 1),
                   Figure("shown", 7, "s"), AtMost("none", 0, "s", {"theirs", 10}, 2)};
    return report;
  }
};

TEST(SuiteTest, RowsAreJudgedByTheirRatio) {
  const auto report = RunSuite(Three(), {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->rows[0].suite, "three");
  EXPECT_EQ(report->rows[0].pass, false);
  EXPECT_EQ(report->rows[1].ratio, 5.0);
  EXPECT_EQ(report->rows[1].pass, true);
  EXPECT_EQ(report->rows[2].pass, true);
  EXPECT_EQ(report->rows[3].pass, std::nullopt);
  EXPECT_EQ(report->rows[4].pass, true);
}

TEST(SuiteTest, AFailureNamesItsSuite) {
  const auto report = RunSuite(Three(), {.traces = 0});
  EXPECT_EQ(report.status().message(), "suite three: no traces");
}

TEST(SuiteRegistryTest, AnUnknownNameGetsTheNearest) {
  SuiteRegistry registry;
  registry.Add(std::make_unique<Three>());
  EXPECT_TRUE(registry.Find("three").ok());
  EXPECT_NE(registry.Find("tree").status().message().find("did you mean 'three'?"),
            std::string::npos);
}

}  // namespace
}  // namespace headrace::orchestrate
