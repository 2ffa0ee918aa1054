// The section `tls` of a role's config.
#pragma once

#include "common/config/config.h"
#include "common/tls_files.h"

namespace headrace {

ConfigSpec<TlsFiles> TlsSection();

}  // namespace headrace
