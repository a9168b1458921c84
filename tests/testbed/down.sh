#!/usr/bin/env bash
# down.sh DIR: stops every part of the testbed in DIR and waits for their end. DIR stays and can be started again or removed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -e "$1/port" ] || exit 0 # nothing was started here
exec "$here/component.sh" "$1" stop metrics-server kwok scheduler kcm apiserver etcd
