/* Dies while it is loaded: configuring, building and listing tests must not notice, its tests must. */
#include <assay/abi.h>
#include <stdlib.h>

__attribute__((constructor)) static void die(void) { abort(); }
const assay_library *assay_get_library(uint32_t version) {
  (void)version;
  return 0;
}
