/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host: facts of a Xen host and of a recording's surroundings.
 *
 * The only header of host/ that others include.
 */
#ifndef XENFLAME_HOST_H
#define XENFLAME_HOST_H

#include "base/base.h"

#endif
