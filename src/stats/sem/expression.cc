#include "stats/sem/expression.h"
