#!/usr/bin/env bash
# Installs what the tests need and this machine lacks, from Debian's packages. Without root or apt it says in one line what is missing.
set -euo pipefail

# command:package
wanted="redis-server:redis-server chromium:chromium java:default-jdk-headless javac:default-jdk-headless pidstat:sysstat nginx:nginx-light
tmux:tmux wrk:wrk ab:apache2-utils"

packages=""
for pair in $wanted; do
  name=${pair%%:*}
  command -v "$name" >/dev/null 2>&1 || [ -x "/usr/sbin/$name" ] || packages="$packages ${pair#*:}"
done
[ -f /usr/share/java/tomcat10-catalina.jar ] || packages="$packages libtomcat10-java"
[ -n "$packages" ] || exit 0

packages=$(printf '%s\n' $packages | sort -u | tr '\n' ' ')
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "missing for some tests, which will be skipped: $packages" >&2
  exit 0
fi
echo "installing: $packages"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null
# Services must not start by themselves: the tests start their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
  trap 'rm -f $policy' EXIT
fi
for package in $packages; do
  apt-get install -y -qq --no-install-recommends "$package" >/dev/null || echo "could not install $package: its tests will be skipped" >&2
done
