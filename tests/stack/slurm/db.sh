#!/bin/bash
# MariaDB for slurmdbd: one database, one account, small buffers.
set -eu
password=$(cat /stack/secrets/db-password)
install -d -o mysql -g mysql /run/mysqld
# Read anew at every start, so the account exists on an empty volume and on a used one.
install -o mysql -m 0400 /dev/stdin /run/mysqld/init.sql <<SQL
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS slurm@'%' IDENTIFIED BY '$password';
GRANT ALL ON slurm_acct_db.* TO slurm@'%';
SQL
exec mariadbd --user=mysql --bind-address=0.0.0.0 --init-file=/run/mysqld/init.sql \
    --skip-log-bin --performance-schema=off --innodb-buffer-pool-size=64M \
    --innodb-log-file-size=32M --innodb-flush-log-at-trx-commit=2 --innodb-lock-wait-timeout=900
