#!/usr/bin/env bash
# record.sh DIR: creates objects.yaml in the testbed in DIR and stores each object, a list, a watch and a refusal as the API
# server encodes them: NAME.pb in protobuf and NAME.json in JSON. Stops the parts that would change the objects.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:?usage: record.sh DIR}
export KUBECONFIG=$dir/admin.kubeconfig
server=https://127.0.0.1:$(($(cat "$dir/port") + 1))
ask() { curl -sk --fail-with-body -H "Authorization: Bearer admin-token" "$@"; }
protobuf=application/vnd.kubernetes.protobuf

"$here/../testbed/component.sh" "$dir" stop kwok kcm scheduler
kubectl apply --server-side --force-conflicts --validate=false -f "$here/objects.yaml"
kubectl apply --server-side --force-conflicts --validate=false --subresource=status -f "$here/objects.yaml" > "$dir/status.log" 2>&1 || true

# record NAME PATH
record() {
  ask -H "Accept: $protobuf" "$server$2" > "$here/$1.pb" || true
  ask -H "Accept: application/json" "$server$2" > "$here/$1.json" || true
}
namespace=namespaces/encodings
record Node-encoded-node /api/v1/nodes/encoded-node
record Namespace-encodings /api/v1/$namespace
record Pod-web-1 /api/v1/$namespace/pods/web-1
record Pod-bare /api/v1/$namespace/pods/bare
record PodDisruptionBudget-web /apis/policy/v1/$namespace/poddisruptionbudgets/web
record PriorityClass-encoded-high /apis/scheduling.k8s.io/v1/priorityclasses/encoded-high
record PersistentVolumeClaim-data-0 /api/v1/$namespace/persistentvolumeclaims/data-0
record PersistentVolume-encoded-volume /api/v1/persistentvolumes/encoded-volume
record StorageClass-encoded-fast /apis/storage.k8s.io/v1/storageclasses/encoded-fast
record CSINode-encoded-node /apis/storage.k8s.io/v1/csinodes/encoded-node
record VolumeAttachment-encoded-attachment /apis/storage.k8s.io/v1/volumeattachments/encoded-attachment
record Service-web /api/v1/$namespace/services/web
record ReplicaSet-web-1 /apis/apps/v1/$namespace/replicasets/web-1
record ReplicationController-old /api/v1/$namespace/replicationcontrollers/old
record Job-nightly-1 /apis/batch/v1/$namespace/jobs/nightly-1
record StatefulSet-db /apis/apps/v1/$namespace/statefulsets/db
record list "/api/v1/$namespace/pods?limit=1"
record refusal /api/v1/$namespace/pods/absent
version=$(ask "$server/api/v1/nodes?limit=1" | grep -o '"resourceVersion": "[0-9]*"' | head -n 1 | grep -o '[0-9]*')
kubectl label --overwrite node encoded-node step=1 && kubectl label --overwrite node encoded-node step=2
record watch "/api/v1/nodes?watch=true&allowWatchBookmarks=true&timeoutSeconds=4&resourceVersion=$version"
