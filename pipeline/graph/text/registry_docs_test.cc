#include "pipeline/graph/text/registry_docs.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/graph/test_ops.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct OddParams {
  std::string from;
  std::optional<double> rate;
  std::vector<int64_t> sizes;
};

std::vector<FormatWords> Formats() {
  ParamSet<OddParams> odd;
  odd.Optional("from", &OddParams::from, "a word of Python | and a \"quote\"")
      .Optional("rate", &OddParams::rate, "of something")
      .Required("sizes", &OddParams::sizes, "in pixels");
  return {{"odd", "Odd files.", odd.specs(), {".odd"}}, {"plain", "Nothing to say.", {}, {}}};
}

TEST(RegistryDocsTest, ThePageHasEveryStepWithItsParameters) {
  const OpRegistry ops = test_ops::Registry();
  const std::string page = StepsPage(ops.All(), Formats());
  EXPECT_THAT(page, HasSubstr("| [batch](#batch) | Collate records. |\n"));
  EXPECT_THAT(page,
              HasSubstr("### batch\n\nCollate records.\n\n| parameter | type | default | meaning "
                        "|\n|---|---|---|---|\n"
                        "| `size` | int | required | records in a batch |\n"
                        "| `drop_remainder` | bool | `false` | drop a last, smaller batch |\n\n"
                        "`- batch: VALUE` is short for `- batch: {size: VALUE}`.\n"));
  EXPECT_THAT(page, HasSubstr("The map under `parse_example` is the parameter `fields` itself. "
                              "With others: `- parse_example: {fields: {...}, ...}`."));
  EXPECT_THAT(page, HasSubstr("### shard\n\nCut the stream here.\n\nNo parameters.\n"));
  EXPECT_THAT(
      page, HasSubstr("### odd\n\nOdd files. Taken for `.odd` where a source names no format.\n"));
  EXPECT_THAT(page,
              HasSubstr("| `from` | string | `\"\"` | a word of Python \\| and a \"quote\" |"));
  EXPECT_THAT(page, Not(HasSubstr("fused"))) << "internal steps are nobody's business";
}

TEST(RegistryDocsTest, TheStubHasATypedMethodForEveryStep) {
  const OpRegistry ops = test_ops::Registry();
  const std::string stub = PythonStub(ops.All(), Formats());
  EXPECT_THAT(stub,
              HasSubstr("    def batch(self, size: int, drop_remainder: bool = False) -> Self:\n"
                        "        \"\"\"Collate records.\n\n        Args:\n            size: "
                        "records in a batch\n"));
  EXPECT_THAT(stub, HasSubstr("def shuffle(self, buffer: int, seed: int | None = None) -> Self:"));
  EXPECT_THAT(stub,
              HasSubstr("def shard(self) -> Self:\n        \"\"\"Cut the stream here.\"\"\"\n"));
  EXPECT_THAT(stub,
              HasSubstr("    @overload\n    def parse_example(self, /, **kwargs: str) -> Self:\n"));
  EXPECT_THAT(stub, HasSubstr("def parse_example(self, fields: Mapping[str, str], /, *, field: str "
                              "| bytes = \"record\") -> Self:"));
  EXPECT_THAT(
      stub,
      HasSubstr(
          "def resize(self, field: str | bytes, size: int | Sequence[int], scale: float = 1.0, "
          "seed: int | None = None) -> Self:"));
  EXPECT_THAT(
      stub,
      HasSubstr(
          "def read(files: str | Sequence[str] = ..., *, format: Literal[\"odd\"] = ..., rate: "
          "float | None = None, sizes: int | Sequence[int], **kwargs: Any) -> Pipeline:"));
  EXPECT_THAT(stub, Not(HasSubstr("fused")));
}

TEST(RegistryDocsTest, TheStubIsPython) {
  if (std::system("python3 -c '' 2>/dev/null") != 0)
    GTEST_SKIP() << "no python3 on the PATH to parse the stub with";
  const OpRegistry ops = test_ops::Registry();
  const std::string path = ::testing::TempDir() + "/registry_docs_test.pyi";
  std::ofstream(path) << PythonStub(ops.All(), Formats());
  const std::string command =
      "python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' " + path;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace headrace
