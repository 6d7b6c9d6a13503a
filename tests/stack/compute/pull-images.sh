#!/bin/bash
# Have the images that the tests use before the first job asks. Run by the stack once they are
# in the registry; what a node has, it does not fetch again.
set -eu
# shellcheck source=/dev/null
. /stack/node/node.env
for image in $IMAGES; do
    if [ -z "$(ctr --namespace k8s.io images ls --quiet "name==$image")" ]; then
        ctr --namespace k8s.io images pull --hosts-dir /etc/containerd/certs.d "$image" >/dev/null
    fi
done
