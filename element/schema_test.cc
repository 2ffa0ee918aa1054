#include "element/schema.h"

#include <gtest/gtest.h>

#include "element/schema_proto.h"

namespace headrace {
namespace {

Schema Example() {
  return Schema({{"image", DType::kUInt8, Shape{-1, -1, 3}},
                 {"label", DType::kInt64, Shape()},
                 {"any", DType::kFloat32, Shape::Unknown()}});
}

TEST(SchemaTest, AMistypedFieldNamesTheNearest) {
  const auto found = Example().Require("imge");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().message(),
            "no field 'imge'; did you mean 'image'? (fields: image, label, any)");
}

TEST(SchemaTest, TheWireFormRoundTrips) {
  const auto back = SchemaFromDef(SchemaToDef(Example()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, Example());
}

TEST(SchemaTest, AForeignWireFormIsRefused) {
  v1::SchemaDef def = SchemaToDef(Example());
  def.mutable_fields(0)->set_dtype(99);
  EXPECT_FALSE(SchemaFromDef(def).ok());
  def = SchemaToDef(Example());
  for (int i = 0; i < 10; ++i) def.mutable_fields(0)->add_dims(1);
  EXPECT_FALSE(SchemaFromDef(def).ok());
  def = SchemaToDef(Example());
  def.mutable_fields(0)->set_dims(0, -7);
  EXPECT_FALSE(SchemaFromDef(def).ok());
}

TEST(SchemaTest, ItReadsWell) {
  EXPECT_EQ(Example().ToString(), "{image: uint8 [?, ?, 3], label: int64 [], any: float32 [...]}");
}

}  // namespace
}  // namespace headrace
