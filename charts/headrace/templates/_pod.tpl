{{/* What the pods of both roles share; no version among the labels, or a new chart would restart them. (dict "root" $ "component" "worker" "values" .Values.worker) */}}
{{- define "headrace.podMetadata" -}}
labels:
  {{- include "headrace.selector" . | nindent 2 }}
  app.kubernetes.io/part-of: headrace
  {{- with .root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/config: {{ include (printf "headrace.%sConfig" .component) .root | sha256sum }}
  {{- with .values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "headrace.podSpec" -}}
serviceAccountName: {{ default (include "headrace.serviceAccountName" .root) .serviceAccountName }}
automountServiceAccountToken: {{ default .root.Values.serviceAccount.automount .automount }}
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "headrace.container" -}}
image: {{ include "headrace.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- with .root.Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $probe := list "startupProbe" "readinessProbe" "livenessProbe" }}
{{- with get $.values $probe }}
{{ $probe }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "headrace.podDisruptionBudget" -}}
{{- if .values.podDisruptionBudget.enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "headrace.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "headrace.labels" . | nindent 4 }}
spec:
  {{- if not (kindIs "invalid" .values.podDisruptionBudget.minAvailable) }}
  minAvailable: {{ .values.podDisruptionBudget.minAvailable }}
  {{- else }}
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "headrace.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
