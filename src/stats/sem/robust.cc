#include "stats/sem/robust.h"
