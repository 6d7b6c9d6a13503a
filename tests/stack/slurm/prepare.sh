# shellcheck shell=bash
# Sourced by the entrypoints: put the shared configuration where Slurm looks for it.
# The sources are mounted read-only; here every file gets the owner and mode it must have.

slurm_config() {
    mkdir -p /etc/slurm /var/log/slurm /run/slurm
    cp /stack/slurm/gres.conf /stack/slurm/cgroup.conf /etc/slurm/
    sed "s/compute\[1-2\]/compute[1-${SKB_NODES:?}]/" /stack/slurm/slurm.conf > /etc/slurm/slurm.conf
    chown slurm: /var/log/slurm
}

jwt_key() {
    install -o slurm -g slurm -m 0400 /stack/secrets/jwt_hs256.key /etc/slurm/jwt_hs256.key
}

munge_key() {
    install -d -o munge -g munge -m 0700 /etc/munge
    install -o munge -g munge -m 0400 /stack/secrets/munge.key /etc/munge/munge.key
}

munge_start() {
    munge_key
    install -d -o munge -g munge -m 0755 /run/munge
    setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged
}

# Wait until somebody listens there: await HOST PORT
await() {
    until (: <"/dev/tcp/$1/$2") 2>/dev/null; do
        sleep 0.1
    done
}
