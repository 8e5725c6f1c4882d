#!/bin/sh
# Installs mayhap below a folder of your own: ./install.sh [PREFIX], ~/.local if none is named.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${1:-${HOME:?no HOME: name a folder, ./install.sh PREFIX}/.local}
mkdir -p "$prefix"
for folder in bin lib share; do
    cp -R "$here/$folder" "$prefix/"
done
echo "installed $prefix/bin/mayhap"
case ":${PATH:-}:" in
*":$prefix/bin:"*) ;;
*) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
echo "for Redis and Valkey: loadmodule $prefix/lib/mayhap/mayhap.so"
