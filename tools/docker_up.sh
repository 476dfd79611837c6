#!/usr/bin/env bash
# Start, stop and furnish a private Docker engine where none runs, for the tests of the image.
#
# As root, with the Debian packages docker.io and (for `base`) mmdebstrap:
#   docker_up.sh start DIR              all its files under DIR; prints the line to eval: export DOCKER_HOST=…
#   docker_up.sh base DIR TAG SUITE     tag a base image made of Debian's packages (trixie brings Python 3.13), so that
#                                       a Dockerfile's FROM resolves where no image registry is in reach
#   docker_up.sh stop DIR               stop the engine of DIR; what it built stays
# It has no bridge: build and run with `--network host` or `--network none`.
set -euo pipefail

usage="usage: docker_up.sh start DIR | base DIR TAG SUITE | stop DIR"
command=${1:?$usage}
dir=$(mkdir -p "${2:?$usage}" && cd "$2" && pwd)
export DOCKER_HOST=unix://$dir/docker.sock

named() { # FILE NAME: whether the process that a pid file names is alive (a dead one has no command line) and is that program
  [ -s "$1" ] && tr '\0' ' ' 2>/dev/null <"/proc/$(cat "$1")/cmdline" | grep -qw "$2"
}

start() {
  if docker version >/dev/null 2>&1; then
    return
  fi
  # Left by an engine that was killed: the number may be another program's by now, and the engine would wait for it.
  named "$dir/dockerd.pid" dockerd || rm -f "$dir/dockerd.pid"
  named "$dir/exec/containerd/containerd.pid" containerd || rm -f "$dir/exec/containerd/containerd.pid"
  local driver=overlay2
  grep -qw overlay /proc/filesystems || driver=vfs
  setsid dockerd --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/dockerd.pid" --host "$DOCKER_HOST" \
    --iptables=false --ip6tables=false --bridge=none --storage-driver="$driver" >"$dir/dockerd.log" 2>&1 </dev/null &
  for _ in $(seq 60); do
    if docker version >/dev/null 2>&1; then
      return
    fi
    sleep 0.5
  done
  tail -20 "$dir/dockerd.log" >&2
  echo "the engine did not come up, see $dir/dockerd.log" >&2
  exit 1
}

base() {
  local tag=$1 suite=$2 archive=$dir/base-$2.tar part
  if docker image inspect "$tag" >/dev/null 2>&1; then
    return
  fi
  if [ ! -f "$archive" ]; then
    part=$(mktemp "$dir/part-XXXXXX.tar")
    mmdebstrap --quiet --variant=minbase --include=python3,python3-pip,python3-venv,ca-certificates,git \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
      --dpkgopt='path-exclude=/usr/share/locale/*' --format=tar "$suite" "$part"
    mv "$part" "$archive"
  fi
  docker import "$archive" "drift-base/$suite:raw" >/dev/null
  context=$(mktemp -d)
  trap 'rm -rf "$context"' EXIT
  cp /etc/ssl/certs/ca-certificates.crt "$context/" # what this machine trusts, the build has to trust as well
  cat >"$context/Dockerfile" <<FILE
FROM drift-base/$suite:raw
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
RUN rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && ln -s /usr/bin/python3 /usr/local/bin/python && ln -s /usr/bin/python3 /usr/local/bin/python3
ENV LANG=C.UTF-8 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt
CMD ["python3"]
FILE
  DOCKER_BUILDKIT=0 docker build --quiet --tag "$tag" "$context" >/dev/null
  docker images --format '{{.Repository}}:{{.Tag}} {{.Size}}' "$tag"
}

stop() {
  if ! named "$dir/dockerd.pid" dockerd; then
    return
  fi
  local pid
  pid=$(cat "$dir/dockerd.pid")
  kill "$pid"
  for _ in $(seq 40); do
    if ! kill -0 "$pid" 2>/dev/null; then
      umount "$dir"/exec/netns/* 2>/dev/null || true
      return
    fi
    sleep 0.5
  done
  echo "the engine (process $pid) did not stop" >&2
  exit 1
}

case $command in
start)
  start
  echo "export DOCKER_HOST=$DOCKER_HOST"
  ;;
base) base "${3:?$usage}" "${4:?$usage}" ;;
stop) stop ;;
*)
  echo "$usage" >&2
  exit 2
  ;;
esac
