// consumer.double: out = 2 x over rows of n. A slot that assay's abi.h does not know: its entry's type is ours.
#pragma once

#include <assay/abi.h>

using double_fn = assay_status (*)(const assay_call*, assay_in x, assay_out out);
