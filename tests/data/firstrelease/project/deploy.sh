#!/bin/sh
# Deploy the service.
echo "to $1"
