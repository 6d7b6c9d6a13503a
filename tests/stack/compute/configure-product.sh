#!/bin/sh
# The configuration that a site would write, for the package that is installed.
# The node's kubeconfig comes later, when there is an API server to make it with.
set -eu
mkdir -p /etc/slurm-k8s-bridge
cp /stack/compute/bridge.toml /etc/slurm-k8s-bridge/bridge.toml
cp /stack/node/slurmrestd-ca.pem /etc/slurm-k8s-bridge/slurmrestd-ca.pem
chmod 644 /etc/slurm-k8s-bridge/bridge.toml /etc/slurm-k8s-bridge/slurmrestd-ca.pem
# Until the node has its kubeconfig the daemon would only fail; slurmd waits for the same file.
for unit in /usr/lib/systemd/system/slurm-k8s-bridge*; do
    case "$unit" in
        *.service | *.socket) ;;
        *) continue ;;
    esac
    name=${unit##*/}
    mkdir -p "/etc/systemd/system/$name.d"
    cp /stack/compute/units/slurmd-provisioned.conf "/etc/systemd/system/$name.d/provisioned.conf"
done
# The daemon has a /proc of its own, without what boot.sh has mounted there (nothing, where it last ran before it did).
mkdir -p /etc/systemd/system/slurm-k8s-bridge.service.d
cat >/etc/systemd/system/slurm-k8s-bridge.service.d/boot-id.conf <<END
[Service]
BindReadOnlyPaths=-/run/boot-id:/proc/sys/kernel/random/boot_id
END
