#!/bin/bash
# The node can take a job: Slurm's and Kubernetes' agents run, and so does the product's daemon.
set -eu
if [ ! -e /var/lib/stack/provisioned ]; then
    echo "the node is not in service yet"
    exit 1
fi
units="munge slurmd containerd kubelet gpu-plugin"
if systemctl cat slurm-k8s-bridge.service >/dev/null 2>&1; then
    units="$units slurm-k8s-bridge"
fi
for unit in $units; do
    # One by one: of several at once systemctl asks for any.
    if ! systemctl --quiet is-active "$unit"; then
        echo "$unit is $(systemctl is-active "$unit")"
        exit 1
    fi
done
