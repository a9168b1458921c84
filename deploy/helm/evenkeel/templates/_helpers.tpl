{{/* The name of the chart or its replacement. */}}
{{- define "evenkeel.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of all objects. A release with the name of the chart repeats nothing. The
API server allows a CronJob 52 characters, because the names of its Jobs are longer. */}}
{{- define "evenkeel.fullname" -}}
{{- $name := include "evenkeel.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "evenkeel.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "evenkeel.selectorLabels" -}}
app.kubernetes.io/name: {{ include "evenkeel.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "evenkeel.labels" -}}
{{ include "evenkeel.selectorLabels" . }}
app.kubernetes.io/component: rebalancer
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "evenkeel.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "evenkeel.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* "descheduler" if the policy is one of descheduler, and "native" otherwise. */}}
{{- define "evenkeel.format" -}}
{{- if kindIs "map" .Values.deschedulerPolicy -}}descheduler{{- else -}}native{{- end -}}
{{- end -}}

{{- define "evenkeel.kind" -}}
{{- $default := ternary "CronJob" "Deployment" (eq (include "evenkeel.format" .) "descheduler") -}}
{{- $kind := default $default .Values.kind -}}
{{- if not (has $kind (list "Deployment" "CronJob")) -}}
{{- fail (printf "kind: found %q, expected Deployment or CronJob" $kind) -}}
{{- end -}}
{{- $kind -}}
{{- end -}}

{{/* The ConfigMap that holds the policy. */}}
{{- define "evenkeel.policyName" -}}
{{- if .Values.existingPolicy -}}
{{- .Values.existingPolicy -}}
{{- else if and (kindIs "map" .Values.deschedulerPolicy) (not .Values.deschedulerPolicy) -}}
{{- include "evenkeel.fullname" . -}}
{{- else -}}
{{- include "evenkeel.fullname" . }}-policy
{{- end -}}
{{- end -}}

{{/* The data of that ConfigMap, or nothing if it is not ours. */}}
{{- define "evenkeel.policyData" -}}
{{- $own := eq (include "evenkeel.policyName" .) (printf "%s-policy" (include "evenkeel.fullname" .)) -}}
{{- if and $own (not .Values.existingPolicy) -}}
policy.yaml: |
{{- if eq (include "evenkeel.format" .) "descheduler" }}
  apiVersion: {{ .Values.deschedulerPolicyAPIVersion | quote }}
  kind: DeschedulerPolicy
  {{- tpl (toYaml .Values.deschedulerPolicy) . | nindent 2 }}
{{- else }}
  apiVersion: evenkeel/v1alpha1
  kind: Policy
  {{- toYaml (omit (required "policy: found null, expected a policy" .Values.policy) "apiVersion" "kind") | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The image. One of descheduler does not contain evenkeel. */}}
{{- define "evenkeel.image" -}}
{{- $own := printf "v%s" .Chart.AppVersion -}}
{{- if hasSuffix "/descheduler" .Values.image.repository -}}
ghcr.io/evenkeel/evenkeel:{{ $own }}
{{- else -}}
{{ .Values.image.repository }}:{{ default $own .Values.image.tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end -}}

{{/* The names of the objects that the program writes. A flag of cmdOptions names them, too, and the
rights are for these names. */}}
{{- define "evenkeel.ledgerName" -}}
{{- default (printf "%s-ledger" (include "evenkeel.fullname" .)) (default dict .Values.cmdOptions).ledger -}}
{{- end -}}

{{- define "evenkeel.proposalName" -}}
{{- default (printf "%s-proposal" (include "evenkeel.fullname" .)) (default dict .Values.cmdOptions).proposal -}}
{{- end -}}

{{- define "evenkeel.leaseName" -}}
{{- $asked := get (default dict .Values.cmdOptions) "leader-elect-resource-name" -}}
{{- default (include "evenkeel.fullname" .) (default .Values.leaderElection.resourceName $asked) -}}
{{- end -}}

{{- define "evenkeel.leaseNamespace" -}}
{{- $asked := get (default dict .Values.cmdOptions) "leader-elect-resource-namespace" -}}
{{- default (include "evenkeel.namespace" .) (default .Values.leaderElection.resourceNamespace $asked) -}}
{{- end -}}

{{/* Whether the values ask for the right to taint nodes: "true" or nothing. */}}
{{- define "evenkeel.asksToSteer" -}}
{{- $rights := toString .Values.steering.rights -}}
{{- $asked := false -}}
{{- if and (eq (include "evenkeel.format" .) "native") (not .Values.existingPolicy) -}}
{{- $steering := default dict (default dict .Values.policy).steering -}}
{{- $asked = or $steering.taintHot $steering.taintEmptying -}}
{{- end -}}
{{- if and .Values.rbac.create (or (eq $rights "true") (and (eq $rights "auto") $asked)) -}}true{{- end -}}
{{- end -}}

{{/* Whether that right is granted: "true" or nothing. */}}
{{- define "evenkeel.steers" -}}
{{- if and (include "evenkeel.asksToSteer" .) (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) -}}true{{- end -}}
{{- end -}}

{{/* Whether port 10258 of descheduler is served and not by default: "true" or nothing. */}}
{{- define "evenkeel.securePort" -}}
{{- if eq (include "evenkeel.format" .) "native" -}}
{{- $ports := list (dig "httpGet" "port" 0 (default dict .Values.livenessProbe) | int) -}}
{{- range .Values.ports -}}
{{- $ports = append $ports (int .containerPort) -}}
{{- end -}}
{{- if has 10258 $ports -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{/* The objects of a manifest of deploy/, as a dict with a list. Takes a dict of `root` and `file`. */}}
{{- define "evenkeel.documents" -}}
{{- $documents := list -}}
{{- range $text := regexSplit "(?m)^---\\s*$" (.root.Files.Get .file) -1 -}}
{{- $document := fromYaml $text -}}
{{- if $document.kind -}}
{{- $documents = append $documents $document -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "list" $documents) -}}
{{- end -}}

{{/* The names of these objects in this release, by their names in deploy/. */}}
{{- define "evenkeel.names" -}}
evenkeel-ledger: {{ include "evenkeel.ledgerName" . }}
evenkeel-proposal: {{ include "evenkeel.proposalName" . }}
evenkeel: {{ include "evenkeel.leaseName" . }}
{{- end -}}

{{/* The rules of a role with the names of this release. Takes a dict of `root`, `rules`, and `without`: an API group. */}}
{{- define "evenkeel.rules" -}}
{{- $without := .without -}}
{{- $names := fromYaml (include "evenkeel.names" .root) -}}
{{- range $rule := .rules }}
{{- if not (has $without $rule.apiGroups) }}
{{- if $rule.resourceNames }}
{{- $renamed := list }}
{{- range $rule.resourceNames }}
{{- $renamed = append $renamed (default . (get $names .)) }}
{{- end }}
{{- $_ := set $rule "resourceNames" $renamed }}
{{- end }}
{{- toYaml (list $rule) }}
{{ end }}
{{- end }}
{{- end -}}

{{- define "evenkeel.subjects" -}}
- kind: ServiceAccount
  name: {{ include "evenkeel.serviceAccountName" . }}
  namespace: {{ include "evenkeel.namespace" . }}
{{- end -}}

{{/* The objects of a manifest of deploy/, with the names of this release. Takes a dict of `root` and `file`. */}}
{{- define "evenkeel.manifest" -}}
{{- $root := .root -}}
{{- $namespace := include "evenkeel.namespace" $root -}}
{{- $leases := include "evenkeel.leaseNamespace" $root -}}
{{- $names := fromYaml (include "evenkeel.names" $root) -}}
{{- range $object := (fromYaml (include "evenkeel.documents" .)).list }}
{{- $metadata := $object.metadata }}
{{- $ofRelease := regexReplaceAll "^evenkeel" $metadata.name (include "evenkeel.fullname" $root) }}
{{- $_ := set $metadata "name" (ternary (get $names $metadata.name) $ofRelease (has $object.kind (list "ConfigMap" "Lease"))) }}
{{- $_ := set $metadata "labels" (fromYaml (include "evenkeel.labels" $root)) }}
{{- if has $object.kind (list "Role" "RoleBinding" "ConfigMap") }}
{{- $_ := set $metadata "namespace" $namespace }}
{{- end }}
{{- if eq $object.kind "Lease" }}
{{- $_ := set $metadata "namespace" $leases }}
{{- end }}
{{- with $object.roleRef }}
{{- $_ := set . "name" $metadata.name }}
{{- end }}
{{- if $object.subjects }}
{{- $_ := set $object "subjects" (fromYamlArray (include "evenkeel.subjects" $root)) }}
{{- end }}
{{- if $object.rules }}
{{- $apart := and (eq $object.kind "Role") (ne $leases $namespace) }}
{{- $rules := include "evenkeel.rules" (dict "root" $root "rules" $object.rules "without" (ternary "coordination.k8s.io" "" $apart | default "none")) }}
{{- $_ := set $object "rules" (fromYamlArray $rules) }}
{{- end }}
{{- if eq $object.kind "ValidatingAdmissionPolicy" }}
{{- $account := printf "%s:%s$" $namespace (include "evenkeel.serviceAccountName" $root | replace "." "[.]") }}
{{- range $object.spec.matchConditions }}
{{- $_ := set . "expression" (replace "[^:]+:evenkeel$" $account .expression) }}
{{- end }}
{{- end }}
{{- if eq $object.kind "ValidatingAdmissionPolicyBinding" }}
{{- $_ := set $object.spec "policyName" $metadata.name }}
{{- end }}
---
{{ toYaml $object }}
{{ end }}
{{- end -}}
