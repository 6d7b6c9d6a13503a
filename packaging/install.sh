#!/bin/sh
# Install slurm-k8s-bridge on a compute node from the checkout that this file lies in.
#   install.sh            on this machine; may be run again at any time, also over an older version
#   install.sh DESTDIR    into a tree, for a package or an image: no account is made, nothing enabled
#
# Not installed here: the daemon's Python environment, /usr/lib/slurm-k8s-bridge/venv (Python >= 3.11 with
# the packages that `packaging/requirements.py install` prints). The hooks do without it.
# Talks to no running systemd, so it also works in an image whose systemd has not started yet.
set -eu
umask 022

dest=${1:-/}
dest=${dest%/}
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
lib=/usr/lib/slurm-k8s-bridge
python=/usr/bin/python3
units="slurm-k8s-bridge.service slurm-k8s-bridge-hook.socket slurm-k8s-bridge-user.socket"

tell() { # NAME CAUSE CONSEQUENCE CURE
    echo "install.sh: $2 [$1]; $3; $4" >&2
}

told_if_stopped() {
    status=$?
    if [ "$status" != 0 ]; then
        tell install-stopped "a step failed, whose own words stand above" \
            "this node may have parts of two versions" "mend what they name, and run it again"
    fi
    exit "$status"
}

put() { # MODE FILE... DIRECTORY; replaced by a rename, so that nobody ever runs half a file
    mode=$1
    shift
    for last; do :; done
    mkdir -p "$dest$last"
    while [ $# -gt 1 ]; do
        target=$dest$last/${1##*/}
        # A leading dot: a glob such as Prolog=/etc/slurm/prolog.d/* does not see it.
        temporary=$dest$last/.${1##*/}.new
        cp "$1" "$temporary"
        chmod "$mode" "$temporary"
        mv "$temporary" "$target"
        shift
    done
}

package() { # the Python package, as a whole in place of the old one: a module that is gone must go
    mkdir -p "$dest$lib"
    rm -rf "$dest$lib/.new" "$dest$lib/.old"
    cp -R "$here/bridge" "$dest$lib/.new"
    find "$dest$lib/.new" -name __pycache__ -prune -exec rm -rf {} +
    chmod -R u=rwX,go=rX "$dest$lib/.new"
    if [ -e "$dest$lib/bridge" ]; then
        mv "$dest$lib/bridge" "$dest$lib/.old"
    fi
    mv "$dest$lib/.new" "$dest$lib/bridge"
    rm -rf "$dest$lib/.old"
}

compile() { # for the very interpreters that will run it; a package does this in its %post
    for file in __init__.py wellknown.py wire/__init__.py wire/frames.py messages/__init__.py messages/hook.py; do
        "$python" -I -S -m compileall -q "$lib/bridge/$file"
    done
    "$python" -I -S -m compileall -q "$lib/bridge/hook"
    if [ -x "$lib/venv/bin/python" ]; then
        "$lib/venv/bin/python" -I -m compileall -q "$lib/bridge"
    else
        tell no-venv "$lib/venv is missing" "bridged cannot start yet; the hooks work without it" \
            "make it with Python >= 3.11 and the packages that packaging/requirements.py names"
    fi
}

account_and_directories() {
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers slurm-k8s-bridge.conf
    elif ! getent passwd slurm-k8s-bridge >/dev/null; then
        useradd --system --user-group --no-create-home --home-dir /var/lib/slurm-k8s-bridge/journal \
            --shell /usr/sbin/nologin slurm-k8s-bridge
    fi
    # By hand and not by systemd-tmpfiles: it would refuse where /run is not yet a real one.
    for directory in /run/slurm-k8s-bridge /var/lib/slurm-k8s-bridge /var/lib/slurm-k8s-bridge/runs; do
        mkdir -p "$directory"
        chown root:root "$directory"
        chmod 0755 "$directory"
    done
    install -d -o slurm-k8s-bridge -g slurm-k8s-bridge -m 0700 /var/lib/slurm-k8s-bridge/credential
}

enable_units() {
    if command -v systemctl >/dev/null; then
        # shellcheck disable=SC2086 # a list of words
        systemctl --quiet --root=/ enable $units
    else
        tell no-systemd "there is no systemctl here" "bridged does not start at boot" \
            "start it and its sockets by your own means"
    fi
}

if [ -z "$dest" ] && [ "$(id -u)" != 0 ]; then
    tell not-root "only root may install on this machine" "nothing is changed" "run it as root, or give it a DESTDIR"
    exit 77
fi
trap told_if_stopped EXIT
package
put 0755 "$here/packaging/bin/bridged" /usr/sbin
put 0755 "$here/packaging/bin/bridgectl" /usr/bin
put 0755 "$here/slurm/prolog.d/50-slurm-k8s-bridge" /etc/slurm/prolog.d
put 0755 "$here/slurm/epilog.d/50-slurm-k8s-bridge" /etc/slurm/epilog.d
put 0644 "$here"/packaging/systemd/*.service "$here"/packaging/systemd/*.socket \
    "$here"/packaging/systemd/*.timer /usr/lib/systemd/system
put 0644 "$here/packaging/systemd/80-slurm-k8s-bridge.preset" /usr/lib/systemd/system-preset
put 0644 "$here/packaging/sysusers.d/slurm-k8s-bridge.conf" /usr/lib/sysusers.d
put 0644 "$here/packaging/tmpfiles.d/slurm-k8s-bridge.conf" /usr/lib/tmpfiles.d
mkdir -p "$dest/etc/slurm-k8s-bridge"

if [ -z "$dest" ]; then
    compile
    account_and_directories
    enable_units
fi
