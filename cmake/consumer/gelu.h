/* activation.gelu_tanh_and_mul: x (..., 2d), out (..., d); out = gelu_tanh(x[:d]) * x[d:]. Not a slot of abi.h: the
 * type of its entry is declared here, for the slot file and for every candidate. */
#ifndef GELU_H
#define GELU_H

#include <assay/abi.h>

typedef assay_status (*gelu_fn)(const assay_call *, assay_in x, assay_out out);

#endif
