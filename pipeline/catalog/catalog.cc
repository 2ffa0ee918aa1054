#include "pipeline/catalog/catalog.h"

#include "pipeline/passes/passes.h"

namespace headrace {

Catalog::Catalog() : passes(AllPasses()) {
  RegisterAll_ops(ops);
  RegisterAll_formats(formats);
}

}  // namespace headrace
