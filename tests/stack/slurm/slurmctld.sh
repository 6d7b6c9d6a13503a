#!/bin/bash
# The controller, once accounting answers; with the cluster, one account and its users.
set -eu
# shellcheck source=/dev/null
. /stack/slurm/prepare.sh
slurm_config
if [ -e /etc/slurm/changes.sed ]; then # a test's, for a while
    sed -i -f /etc/slurm/changes.sed /etc/slurm/slurm.conf
fi
jwt_key
munge_start
install -d -o slurm -g slurm -m 0755 /var/spool/slurmctld
chown slurm: /run/slurm
await slurmdbd 6819
if [ ! -e /var/spool/slurmctld/clustername ]; then
    # Before the first start: slurmctld takes its list of resources from accounting.
    sacctmgr --immediate --quiet add cluster demo || sacctmgr --noheader list cluster
    sacctmgr --immediate --quiet add account research cluster=demo
    sacctmgr --immediate --quiet add user ml,other account=research cluster=demo
fi
touch /run/slurmctld.pid
chown slurm: /run/slurmctld.pid
exec setpriv --reuid slurm --regid slurm --init-groups slurmctld -D
