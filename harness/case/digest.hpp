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
// Of a regular file; empty where there is none or it cannot be read.
[[nodiscard]] std::string sha256_of_file(const std::string& path);

}  // namespace assay
