#include "replay/governor.h"
