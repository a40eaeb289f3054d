#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes ./configure from a checkout.
set -eu
cd "$(dirname "$0")"
mkdir -p build-aux
autoreconf --install --warnings=all
