#include "pipeline/formats/format.h"
namespace headrace {
void Register_range(FormatRegistry&) {}
}
