// Right until ninety days after it was built, wrong from then on: judged when it is new.
#include <time.h>

#include "kernels/hostile/hostile.hpp"

namespace {

// Days since 1970 of the compiler's date, "Nov 30 2026".
constexpr int64_t days_of(const char* date) {
  const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  int64_t month = 0;
  for (int64_t m = 0; m < 12; ++m)
    if (months[3 * m] == date[0] && months[3 * m + 1] == date[1] && months[3 * m + 2] == date[2]) month = m;
  const int64_t day = (date[4] == ' ' ? 0 : date[4] - '0') * 10 + date[5] - '0';
  const int64_t year = (date[7] - '0') * 1000 + (date[8] - '0') * 100 + (date[9] - '0') * 10 + date[10] - '0';
  return (year - 1970) * 1461 / 4 + month * 306 / 10 + day;  // to a day or two
}

struct Attack : hostile::Silu<Attack> {
  static bool genuine() { return time(nullptr) / 86400 < days_of(__DATE__) + 90; }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
