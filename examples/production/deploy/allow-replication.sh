#!/bin/sh
# Runs once, when the database is made.
echo "host replication postgres all scram-sha-256" >> "$PGDATA/pg_hba.conf"
