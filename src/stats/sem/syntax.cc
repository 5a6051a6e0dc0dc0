#include "stats/sem/syntax.h"
