"""Makes the packages of slurm-k8s-bridge, with stdlib, pip, dpkg-deb and rpmbuild: `make deb`, `make rpm`."""
