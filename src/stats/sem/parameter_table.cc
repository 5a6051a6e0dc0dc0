#include "stats/sem/parameter_table.h"
