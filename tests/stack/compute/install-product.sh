#!/bin/sh
# Install the package that the stack has now, over the one that the node was made with.
set -eu
dpkg --force-confdef --force-confold --install /stack/package/package.deb
/stack/compute/configure-product.sh
