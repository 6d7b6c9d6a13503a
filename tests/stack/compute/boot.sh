#!/bin/bash
# First process of a compute node's container: what a machine's firmware and installer would
# have done, then systemd. Runs again after every restart of the container.
set -eu
# shellcheck source=/dev/null
. /stack/slurm/prepare.sh
# shellcheck source=/dev/null
. /stack/node/node.env # NODE_IP, POD_SUBNET, POD_NETWORK, OTHER_ROUTES

# On cgroup v1 our own subtree comes read-only; kubelet and systemd write to it. On v2 a
# private namespace only needs the plain remount.
cgroups() {
    mount -o remount,rw /sys/fs/cgroup 2>/dev/null || true
    for controller in /sys/fs/cgroup/*/; do
        mount -o remount,bind,rw "$controller" 2>/dev/null || true
    done
    # Volumes of pods are mounted here and must be seen by their containers.
    mount --make-rshared /
}

# The kernel is the machine's, and does not start anew with the container.
boot_id() {
    cat /proc/sys/kernel/random/uuid >/run/boot-id
    mount --bind /run/boot-id /proc/sys/kernel/random/boot_id
}

# A device is known by its number, and a container may have few: that of /dev/full is the one which no program holds by
# the way. With that of /dev/null whatever an earlier job left would hold a GPU.
devices() {
    for index in 0 1; do
        [ -e "/dev/fakegpu$index" ] || mknod -m 0666 "/dev/fakegpu$index" c 1 7
    done
    # kubelet and containerd look for it; some engines do not hand it on.
    [ -e /dev/kmsg ] || ln -s /dev/null /dev/kmsg
}

# Pods reach pods on other nodes with their own address, and everything else with the node's.
network() {
    sysctl -qw net.ipv4.ip_forward=1 2>/dev/null || true
    for route in $OTHER_ROUTES; do
        ip route replace "${route%,*}" via "${route#*,}"
    done
    iptables -t nat -C POSTROUTING -s "$POD_SUBNET" ! -d "$POD_NETWORK" -j MASQUERADE 2>/dev/null ||
        iptables -t nat -A POSTROUTING -s "$POD_SUBNET" ! -d "$POD_NETWORK" -j MASQUERADE
}

container_runtime() {
    mkdir -p /etc/containerd/certs.d/registry:5000 /etc/cni/net.d
    cp /stack/compute/containerd/config.toml /etc/containerd/config.toml
    cp /stack/compute/containerd/hosts.toml /etc/containerd/certs.d/registry:5000/hosts.toml
    sed "s|@POD_SUBNET@|$POD_SUBNET|" /stack/compute/containerd/10-pods.conflist >/etc/cni/net.d/10-pods.conflist
}

kubernetes() {
    mkdir -p /etc/kubernetes /var/lib/kubelet
    cp -r /stack/node/kubernetes/. /etc/kubernetes/
    sed "s|@NODE_IP@|$NODE_IP|" /stack/compute/kubelet.env >/etc/kubernetes/kubelet.env
    sed "s|@CLUSTER_DNS@|$CLUSTER_DNS|" /stack/compute/kubelet.yaml >/etc/kubernetes/kubelet.yaml
}

slurm() {
    slurm_config
    munge_key
    for hooks in prolog.d epilog.d; do
        install -D -m 0755 /stack/slurm/99-site "/etc/slurm/$hooks/99-site"
    done
    mkdir -p /var/spool/slurmd
}

homes() {
    install -d -o ml -g ml -m 0750 /home/ml
    install -d -o other -g other -m 0750 /home/other
}

units() {
    cp /stack/compute/units/*.service /etc/systemd/system/
    mkdir -p /etc/systemd/system/slurmd.service.d
    cp /stack/compute/units/slurmd-provisioned.conf /etc/systemd/system/slurmd.service.d/
    systemctl --quiet enable containerd munge slurmd kubelet gpu-plugin
}

cgroups
boot_id
devices
network
container_runtime
kubernetes
slurm
homes
units
if [ ! -e /var/lib/stack/provisioned ]; then
    /stack/compute/configure-product.sh
fi

export container=docker
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    exec /lib/systemd/systemd
fi
exec env SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1 /lib/systemd/systemd systemd.unified_cgroup_hierarchy=0
