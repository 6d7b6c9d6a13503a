#!/bin/sh
# Take the node into service: its kubeconfig comes on standard input. Run by the stack when the
# API server is up, and again when the product is installed anew.
set -eu
umask 077
# In a container that was made a moment ago systemd may not listen yet.
timeout 120 sh -c 'until systemctl show --property=Version >/dev/null 2>&1; do sleep 0.2; done'
owner=root
if id -u slurm-k8s-bridge >/dev/null 2>&1; then
    owner=slurm-k8s-bridge
fi
install -d -o "$owner" -g "$owner" -m 0700 /var/lib/slurm-k8s-bridge/credential
cat >/var/lib/slurm-k8s-bridge/credential/kubeconfig.new
chown "$owner:" /var/lib/slurm-k8s-bridge/credential/kubeconfig.new
mv /var/lib/slurm-k8s-bridge/credential/kubeconfig.new /var/lib/slurm-k8s-bridge/credential/kubeconfig
install -D -m 0644 /dev/null /var/lib/stack/provisioned
systemctl daemon-reload
systemd-tmpfiles --create >/dev/null 2>&1 || true
if systemctl cat slurm-k8s-bridge.service >/dev/null 2>&1; then
    # The sockets stay open, so that hooks and users who wait there are served by the new daemon.
    systemctl start slurm-k8s-bridge-hook.socket slurm-k8s-bridge-user.socket slurm-k8s-bridge-renew.timer
    # What fails here is seen by whoever waits for the node; slurmd must not hide behind it.
    systemctl restart slurm-k8s-bridge.service || true
fi
systemctl start slurmd
