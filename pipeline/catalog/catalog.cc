#include "pipeline/catalog/catalog.h"

namespace headrace {

Catalog::Catalog() {
  RegisterAll_ops(ops);
  RegisterAll_formats(formats);
}

}  // namespace headrace
