#!/bin/bash
# The accounting daemon, once its database listens.
set -eu
# shellcheck source=/dev/null
. /stack/slurm/prepare.sh
slurm_config
jwt_key
munge_start
install -o slurm -g slurm -m 0600 /dev/stdin /etc/slurm/slurmdbd.conf <<CONF
AuthType=auth/munge
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
DbdHost=slurmdbd
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=db
StorageUser=slurm
StoragePass=$(cat /stack/secrets/db-password)
StorageLoc=slurm_acct_db
PidFile=/run/slurm/slurmdbd.pid
DebugLevel=info
CONF
chown slurm: /run/slurm
await db 3306
exec setpriv --reuid slurm --regid slurm --init-groups slurmdbd -D
