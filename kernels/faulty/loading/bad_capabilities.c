/* Its capabilities are no JSON. */
#include "kernels/faulty/loading/offer.h"

OFFER(RIGHT_SILU, .capabilities = "{\"num_tokens\": {\"max\": 16}")
