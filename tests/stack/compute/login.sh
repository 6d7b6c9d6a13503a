#!/bin/bash
# The login node: Slurm's client, kubectl and the accounts; no daemon but munge.
set -eu
# shellcheck source=/dev/null
. /stack/slurm/prepare.sh
slurm_config
munge_start
install -d -o ml -g ml -m 0750 /home/ml
install -d -o other -g other -m 0750 /home/other
install -d -m 0700 /root/.kube
install -m 0600 /stack/node/admin.kubeconfig /root/.kube/config
/stack/compute/configure-product.sh
exec sleep infinity
