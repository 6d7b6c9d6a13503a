#!/bin/bash
# The REST API: slurmrestd on loopback, as an account of its own, and TLS in front of it.
# It has neither the munge key nor the JWT key: whoever calls brings a token.
set -eu
# shellcheck source=/dev/null
. /stack/slurm/prepare.sh
slurm_config
cat /stack/secrets/slurmrestd.crt /stack/secrets/slurmrestd.key >/run/slurmrestd.pem
await slurmctld 6817
# A container may not make System V namespaces of its own, hence the two switches.
SLURM_JWT=daemon SLURMRESTD_SECURITY=disable_unshare_sysv,disable_unshare_files \
    setpriv --reuid restd --regid restd --clear-groups \
    slurmrestd -a rest_auth/jwt -s slurmctld,slurmdbd -d v0.0.42,v0.0.41,v0.0.40 127.0.0.1:6821 &
await 127.0.0.1 6821
haproxy -W -db -f /stack/slurm/haproxy.cfg &
# The container lives as long as both do.
wait -n
exit 1
