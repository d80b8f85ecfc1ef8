/* Its capabilities name a field that no call of the slot carries. */
#include "kernels/faulty/loading/offer.h"

OFFER(RIGHT_SILU, .capabilities = "{\"head_dim\": 128}")
