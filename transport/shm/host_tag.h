// Tells hosts apart, so that a client does not knock where nobody can be. Only a hint: what both
// sides share is found out by the handshake.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

// 16 hex digits that differ between machines and between boots, and for abstract socket names
// ("@...") between network namespaces, too. Empty when the system does not say.
std::string HostTag(std::string_view socket_name);

}  // namespace headrace
