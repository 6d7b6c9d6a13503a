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
# zsh looks for the functions of packages elsewhere on Debian. Whoever makes a package for another system says where.
zsh_functions=/usr/share/zsh/${ZSH_FUNCTIONS:-$([ -e /etc/debian_version ] && echo vendor-completions || echo site-functions)}

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

put_all() { # MODE DIRECTORY FILE...; what there is of them: a pattern that nothing matches is no file
    mode_of_all=$1
    directory=$2
    shift 2
    for file; do
        if [ -f "$file" ]; then
            put "$mode_of_all" "$file" "$directory"
        fi
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

documents() { # what is worth having on a node: for whoever stands before it at night
    doc=/usr/share/doc/slurm-k8s-bridge
    put 0644 "$here/LICENSE" "$here/README.md" "$here/SECURITY.md" "$here/CHANGELOG.md" "$doc"
    for folder in docs docs/explanation docs/how-to docs/how-to/runbooks docs/reference docs/tutorial; do
        put_all 0644 "$doc/$folder" "$here/$folder"/*.md "$here/$folder"/*.json
    done
    share=/usr/share/slurm-k8s-bridge
    put_all 0644 "$share/monitoring" "$here"/packaging/monitoring/*
    put_all 0644 "$share/examples" "$here"/packaging/examples/*
    put_all 0644 "$share/selinux" "$here"/packaging/selinux/*
    mkdir -p "$dest$share"
    rm -rf "$dest$share/rbac"
    cp -R "$here/rbac" "$dest$share/rbac"
    chmod -R u=rwX,go=rX "$dest$share/rbac"
    put_all 0644 /usr/share/bash-completion/completions "$here"/packaging/completion/bash/*
    put_all 0644 /usr/share/fish/vendor_completions.d "$here"/packaging/completion/fish/*
    put_all 0644 "$zsh_functions" "$here"/packaging/completion/zsh/*
    for section in 1 5 7 8; do
        put_all 0644 "/usr/share/man/man$section" "$here"/packaging/man/*."$section"
    done
}

if [ -z "$dest" ] && [ "$(id -u)" != 0 ]; then
    tell not-root "only root may install on this machine" "nothing is changed" "run it as root, or give it a DESTDIR"
    exit 77
fi
trap told_if_stopped EXIT
package
put 0755 "$here/packaging/setup" "$lib"
put 0755 "$here/packaging/bin/bridged" /usr/sbin
put 0755 "$here/packaging/bin/bridgectl" /usr/bin
put 0644 "$here"/packaging/systemd/*.service "$here"/packaging/systemd/*.socket \
    "$here"/packaging/systemd/*.timer /usr/lib/systemd/system
put 0644 "$here/packaging/systemd/80-slurm-k8s-bridge.preset" /usr/lib/systemd/system-preset
put 0644 "$here/packaging/sysusers.d/slurm-k8s-bridge.conf" /usr/lib/sysusers.d
put 0644 "$here/packaging/tmpfiles.d/slurm-k8s-bridge.conf" /usr/lib/tmpfiles.d
mkdir -p "$dest/etc/slurm-k8s-bridge"
documents
# The hooks last: nothing asks for what is not yet there.
put 0755 "$here/slurm/prolog.d/50-slurm-k8s-bridge" /etc/slurm/prolog.d
put 0755 "$here/slurm/epilog.d/50-slurm-k8s-bridge" /etc/slurm/epilog.d

if [ -z "$dest" ]; then
    "$lib/setup" install
fi
