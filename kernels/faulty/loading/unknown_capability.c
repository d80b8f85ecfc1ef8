/* Its capabilities name a field that is in no vocabulary. */
#include "kernels/faulty/loading/offer.h"

OFFER(RIGHT_SILU, .capabilities = "{\"num_tokenz\": {\"max\": 16}}")
