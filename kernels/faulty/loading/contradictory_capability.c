/* Its capabilities take captured calls alone, and it does not say that it is graph-safe. */
#include "kernels/faulty/loading/offer.h"

OFFER(RIGHT_SILU, .flags = 0, .capabilities = "{\"graph_mode\": \"cuda_graph\"}")
