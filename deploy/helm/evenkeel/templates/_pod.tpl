{{/* Whether a Deployment elects a leader: "true" or nothing. */}}
{{- define "evenkeel.elects" -}}
{{- $options := default dict .Values.cmdOptions -}}
{{- $asked := ne (toString (get $options "leader-elect")) "false" -}}
{{- if ternary $asked .Values.leaderElection.enabled (hasKey $options "leader-elect") -}}true{{- end -}}
{{- end -}}

{{/* Whether the values ask for a dry run: "true" or nothing. If dryRun and cmdOptions disagree, nothing is evicted. */}}
{{- define "evenkeel.dryRun" -}}
{{- $options := default dict .Values.cmdOptions -}}
{{- if or .Values.dryRun (and (hasKey $options "dry-run") (ne (toString (get $options "dry-run")) "false")) -}}true{{- end -}}
{{- end -}}

{{/* The port of probes and metrics, which a flag of cmdOptions may change. */}}
{{- define "evenkeel.port" -}}
{{- $listen := default "0.0.0.0:8080" (default dict .Values.cmdOptions).listen -}}
{{- toString $listen | splitList ":" | last -}}
{{- end -}}

{{/* The flags of the program: those of the chart that cmdOptions does not replace, and those of cmdOptions. */}}
{{- define "evenkeel.args" -}}
{{- $options := default dict .Values.cmdOptions -}}
{{- if hasKey $options "namespace" -}}
{{- fail "cmdOptions.namespace: the objects of the program and its rights are in the namespace of the release; set namespaceOverride instead" -}}
{{- end -}}
{{- $flags := list -}}
{{- $daemon := eq (include "evenkeel.kind" .) "Deployment" -}}
{{- $native := eq (include "evenkeel.format" .) "native" -}}
{{- if and $native (not $daemon) -}}
{{- $flags = append $flags (list "once") -}}
{{- end -}}
{{- $flags = append $flags (list (ternary "policy" "policy-config-file" $native) "/etc/evenkeel/policy.yaml") -}}
{{- if $daemon -}}
{{- $interval := default (ternary "" "5m" $native) .Values.deschedulingInterval -}}
{{- if $interval -}}
{{- $flags = append $flags (list "descheduling-interval" $interval) -}}
{{- end -}}
{{- end -}}
{{- $flags = append $flags (list "log-format" .Values.logFormat) -}}
{{- if $daemon -}}
{{- $flags = append $flags (list "listen" "0.0.0.0:8080") -}}
{{- if include "evenkeel.securePort" . -}}
{{- $flags = append $flags (list "secure-port" "10258") -}}
{{- end -}}
{{- if .Values.leaderElection.enabled -}}
{{- $flags = append $flags (list "leader-elect") -}}
{{- end -}}
{{- end -}}
{{- /* A single run holds the Lease during its cycle. */ -}}
{{- range $flag, $key := dict "lease-duration" "leaseDuration" "renew-deadline" "renewDeadline" "retry-period" "retryPeriod" "resource-lock" "resourceLock" -}}
{{- with get $.Values.leaderElection $key -}}
{{- $flags = append $flags (list (printf "leader-elect-%s" $flag) .) -}}
{{- end -}}
{{- end -}}
{{- if or (not $native) (ne (include "evenkeel.leaseName" .) "evenkeel") -}}
{{- $flags = append $flags (list "leader-elect-resource-name" (include "evenkeel.leaseName" .)) -}}
{{- end -}}
{{- with .Values.leaderElection.resourceNamespace -}}
{{- $flags = append $flags (list "leader-elect-resource-namespace" .) -}}
{{- end -}}
{{- if ne (include "evenkeel.ledgerName" .) "evenkeel-ledger" -}}
{{- $flags = append $flags (list "ledger" (include "evenkeel.ledgerName" .)) -}}
{{- end -}}
{{- if ne (include "evenkeel.proposalName" .) "evenkeel-proposal" -}}
{{- $flags = append $flags (list "proposal" (include "evenkeel.proposalName" .)) -}}
{{- end -}}
{{- if .Values.schedulerConfig -}}
{{- $flags = append $flags (list "scheduler-config" "/etc/evenkeel-scheduler/scheduler.yaml") -}}
{{- end -}}
{{- if include "evenkeel.dryRun" . -}}
{{- $flags = append $flags (list "dry-run") -}}
{{- $options = omit $options "dry-run" -}}
{{- end -}}
- run
{{- range $flag := $flags }}
{{- if not (hasKey $options (first $flag)) }}
- --{{ join "=" $flag }}
{{- end }}
{{- end }}
{{- range $flag, $value := $options }}
{{- if kindIs "invalid" $value }}
- --{{ $flag }}
{{- else }}
{{- /* Numbers of values are floating-point, and a large one would get an exponent. */}}
- {{ printf "--%s=%s" $flag (ternary (toString $value) ($value | toString | float64 | int64 | toString) (not (and (kindIs "float64" $value) (eq (floor $value) $value)))) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Labels of the pod. */}}
{{- define "evenkeel.podLabels" -}}
{{ include "evenkeel.selectorLabels" . }}
app.kubernetes.io/component: rebalancer
{{- with .Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Annotations of the pod. A changed policy changes the checksum, which starts a new pod. */}}
{{- define "evenkeel.podAnnotations" -}}
# With an injected sidecar, `kubectl logs` and `kubectl exec` still need no -c.
kubectl.kubernetes.io/default-container: evenkeel
{{- if ne .Values.onPolicyChange "reload" }}
checksum/policy: {{ printf "%s%s" (include "evenkeel.policyData" .) .Values.schedulerConfig | sha256sum }}
{{- end }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Whether the values bring the token of the account: "true" or nothing. */}}
{{- define "evenkeel.ownToken" -}}
{{- if and (kindIs "bool" .Values.automountServiceAccountToken) (not .Values.automountServiceAccountToken) -}}true{{- end -}}
{{- end -}}

{{/* The files that the policy may name, also of the pod of `helm test`. */}}
{{- define "evenkeel.volumeMounts" -}}
- name: policy
  mountPath: /etc/evenkeel
  readOnly: true
{{- if .Values.schedulerConfig }}
- name: scheduler
  mountPath: /etc/evenkeel-scheduler
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- if include "evenkeel.ownToken" . }}
{{- with .Values.extraServiceAccountVolumeMounts }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "evenkeel.volumes" -}}
- name: policy
  configMap:
    name: {{ include "evenkeel.policyName" . }}
{{- if .Values.schedulerConfig }}
- name: scheduler
  configMap:
    name: {{ include "evenkeel.fullname" . }}-scheduler
{{- end }}
{{- with .Values.extraVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- if include "evenkeel.ownToken" . }}
{{- with .Values.extraServiceAccountVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The pod. A run of a CronJob serves no port, so it has no probes. */}}
{{- define "evenkeel.podSpec" -}}
{{- $daemon := eq (include "evenkeel.kind" .) "Deployment" -}}
serviceAccountName: {{ include "evenkeel.serviceAccountName" . }}
{{- if kindIs "bool" .Values.automountServiceAccountToken }}
automountServiceAccountToken: {{ .Values.automountServiceAccountToken }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
# A Service named evenkeel would set environment variables EVENKEEL_*, which could be read as options.
enableServiceLinks: false
{{- if not $daemon }}
restartPolicy: Never
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- if .Values.topologySpreadConstraints }}
topologySpreadConstraints:
{{- toYaml .Values.topologySpreadConstraints | nindent 0 }}
{{- else if and $daemon (gt (int .Values.replicas) 1) }}
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "evenkeel.selectorLabels" . | nindent 6 }}
{{- end }}
{{- with .Values.initContainers }}
initContainers:
{{- toYaml . | nindent 0 }}
{{- end }}
containers:
- name: evenkeel
  image: {{ include "evenkeel.image" . | quote }}
  {{- with .Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  {{- with .Values.command }}
  command:
  {{- toYaml . | nindent 2 }}
  {{- end }}
  args:
  {{- include "evenkeel.args" . | nindent 2 }}
  env:
  # The namespace of the ledger and the Lease.
  - name: POD_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  # The identity in events and in the Lease.
  - name: POD_NAME
    valueFrom:
      fieldRef:
        fieldPath: metadata.name
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if $daemon }}
  ports:
  - name: http
    containerPort: {{ include "evenkeel.port" . }}
  {{- with .Values.ports }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  livenessProbe:
    {{- if .Values.livenessProbe }}
    {{- toYaml .Values.livenessProbe | nindent 4 }}
    {{- else }}
    httpGet:
      path: /healthz
      port: http
    periodSeconds: 20
    timeoutSeconds: 5
    {{- end }}
  readinessProbe:
    httpGet:
      path: /readyz
      port: http
    timeoutSeconds: 5
  {{- end }}
  {{- with .Values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
  {{- include "evenkeel.volumeMounts" . | nindent 2 }}
volumes:
{{- include "evenkeel.volumes" . | nindent 0 }}
{{- end -}}
