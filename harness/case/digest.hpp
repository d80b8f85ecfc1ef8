// harness/case/digest.hpp: SHA-256 of bytes.
//
// Who calls it: identities (harness/catalogue/canonical.hpp), Case and Trial digests, file digests.
//
//   sha256_hex("abc");   // 64 lower-case hex digits
#pragma once

#include <string>
#include <string_view>

namespace assay {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace assay
