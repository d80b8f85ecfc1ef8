/* Its capabilities take every architecture from sm_90 on, and with it parts that nobody has seen (FAULT-033). */
#include "kernels/faulty/loading/offer.h"

OFFER(RIGHT_SILU, .capabilities = "{\"architecture\": {\"min\": \"sm_90\"}}")
