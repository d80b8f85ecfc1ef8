/* Exports a function, but not assay_get_library. */
#include "assay/abi.h"

ASSAY_EXPORT const char* assay_get_librray(void) { return "a slip of the pen"; }
