{{/*
A role's config file: configs/ROLE.yaml of this version (a link in files/), what the values change, what the chart fixes.
(dict "root" $ "role" "worker" "given" .Values.worker.config "fixed" (dict ...)). A key that the file has not is an error here, not in the pod.
*/}}
{{- define "headrace.config" -}}
{{- $config := .root.Files.Get (printf "files/%s.yaml" .role) | fromYaml -}}
{{- include "headrace.notFixed" (dict "given" .given "fixed" .fixed "at" (printf "%s.config" .role)) -}}
{{- include "headrace.overlay" (dict "into" $config "from" .given "role" .role "at" (printf "%s.config" .role)) -}}
{{- include "headrace.overlay" (dict "into" $config "from" .fixed "role" .role "at" (printf "%s.config" .role)) -}}
{{- /* YAML 1.1, which Helm reads, has `off` for false. */ -}}
{{- if hasKey $config "udf" -}}{{- if kindIs "bool" $config.udf -}}{{- $_ := set $config "udf" "off" -}}{{- end -}}{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Changes `into`; prints nothing. Not mergeOverwrite: that ignores false, 0 and "". */}}
{{- define "headrace.overlay" -}}
{{- $into := .into -}}{{- $at := .at -}}{{- $role := .role -}}
{{- range $key, $value := .from -}}
{{- if not (hasKey $into $key) -}}
{{- fail (printf "%s.%s: unknown key; there are %s (configs/%s.yaml)" $at $key (keys $into | sortAlpha | join ", ") $role) -}}
{{- else if kindIs "map" (get $into $key) -}}
{{- if not (kindIs "map" $value) -}}{{- fail (printf "%s.%s: expected a section, got %v" $at $key $value) -}}{{- end -}}
{{- include "headrace.overlay" (dict "into" (get $into $key) "from" $value "role" $role "at" (printf "%s.%s" $at $key)) -}}
{{- else -}}
{{- $_ := set $into $key $value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "headrace.notFixed" -}}
{{- $fixed := .fixed -}}{{- $at := .at -}}
{{- range $key, $value := .given -}}
{{- if hasKey $fixed $key -}}
{{- if and (kindIs "map" $value) (kindIs "map" (get $fixed $key)) -}}
{{- include "headrace.notFixed" (dict "given" $value "fixed" (get $fixed $key) "at" (printf "%s.%s" $at $key)) -}}
{{- else -}}
{{- fail (printf "%s.%s: the chart sets it; values.yaml says by which value" $at $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The directories that pipelines may read, as JSON. Never "all": a pod also holds tokens and keys. */}}
{{- define "headrace.roots" -}}
{{- $roots := .Values.data.roots -}}
{{- if not $roots -}}
{{- range .Values.data.volumeMounts -}}{{- $roots = append $roots .mountPath -}}{{- end -}}
{{- end -}}
{{- $roots | default (list "/data") | toJson -}}
{{- end -}}

{{- define "headrace.dispatcherConfig" -}}
{{- $fixed := dict "listen" (printf "%s:%v" .Values.listenHost .Values.dispatcher.service.port) "metrics_listen" (printf "%s:%v" .Values.listenHost .Values.metrics.port) -}}
{{- $_ := set $fixed "roots" (include "headrace.roots" . | fromJsonArray) -}}
{{- $_ := set $fixed "journal" (dict "directory" "/var/lib/headrace/journal") -}}
{{- $_ := set $fixed "token_file" (include "headrace.tokenFile" .) -}}
{{- $_ := set $fixed "tls" (include "headrace.tlsConfig" . | fromYaml) -}}
{{- include "headrace.config" (dict "root" . "role" "dispatcher" "given" .Values.dispatcher.config "fixed" $fixed) -}}
{{- end -}}

{{- define "headrace.workerConfig" -}}
{{- $fixed := dict "dispatcher" (include "headrace.dispatcherAddress" .) "listen" (printf "%s:%v" .Values.listenHost .Values.worker.ports.grpc) -}}
{{- $_ := set $fixed "tcp_listen" (printf "%s:%v" .Values.listenHost .Values.worker.ports.tcp) -}}
{{- $_ := set $fixed "advertise" "" -}}{{- /* HEADRACE_WORKER_ADVERTISE: it differs from pod to pod */ -}}
{{- $_ := set $fixed "metrics_listen" (printf "%s:%v" .Values.listenHost .Values.metrics.port) -}}
{{- $_ := set $fixed "roots" (include "headrace.roots" . | fromJsonArray) -}}
{{- $_ := set $fixed "token_file" (include "headrace.tokenFile" .) -}}
{{- $_ := set $fixed "tls" (include "headrace.tlsConfig" . | fromYaml) -}}
{{- include "headrace.config" (dict "root" . "role" "worker" "given" .Values.worker.config "fixed" $fixed) -}}
{{- end -}}

{{/* What both roles are guarded by: one token and one authority for the whole release. */}}
{{- define "headrace.tokenFile" -}}
{{- if .Values.worker.auth.existingSecret -}}/etc/headrace-token/token{{- end -}}
{{- end -}}

{{- define "headrace.tlsConfig" -}}
{{- if .Values.worker.tls.existingSecret -}}
cert: /etc/headrace-tls/tls.crt
key: /etc/headrace-tls/tls.key
ca: /etc/headrace-tls/ca.crt
client_certificates: {{ .Values.worker.tls.requireClientCertificate }}
{{- else -}}
cert: ""
{{- end -}}
{{- end -}}

{{/* For the commands that call the dispatcher from within a pod. */}}
{{- define "headrace.securityEnv" -}}
{{- if .Values.worker.auth.existingSecret }}
- {name: HEADRACE_TOKEN_FILE, value: /etc/headrace-token/token}
{{- end }}
{{- if .Values.worker.tls.existingSecret }}
- {name: HEADRACE_TLS_CA, value: /etc/headrace-tls/ca.crt}
{{- if .Values.worker.tls.requireClientCertificate }}
- {name: HEADRACE_TLS_CERT, value: /etc/headrace-tls/tls.crt}
- {name: HEADRACE_TLS_KEY, value: /etc/headrace-tls/tls.key}
{{- end }}
{{- end }}
{{- end -}}

{{- define "headrace.securityMounts" -}}
{{- if .Values.worker.auth.existingSecret }}
- {name: token, mountPath: /etc/headrace-token, readOnly: true}
{{- end }}
{{- if .Values.worker.tls.existingSecret }}
- {name: tls, mountPath: /etc/headrace-tls, readOnly: true}
{{- end }}
{{- end -}}

{{/* (dict "root" $ "tls" SECRET) */}}
{{- define "headrace.securityVolumes" -}}
{{- with .root.Values.worker.auth.existingSecret }}
- name: token
  secret:
    secretName: {{ . }}
    defaultMode: 0440
    items: [{key: {{ $.root.Values.worker.auth.key }}, path: token}]
{{- end }}
{{- with .tls }}
- name: tls
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- define "headrace.orchestratorConfig" -}}
{{- $fixed := dict "dispatcher" (include "headrace.dispatcherAddress" .) "driver" "kubernetes" -}}
{{- $_ := set $fixed "metrics_listen" (printf "%s:%v" .Values.listenHost .Values.metrics.port) -}}
{{- $_ := set $fixed "token_file" (include "headrace.tokenFile" .) -}}
{{- $_ := set $fixed "tls" (include "headrace.tlsConfig" . | fromYaml) -}}
{{- $_ := set $fixed "kubernetes" (dict "kind" "deployment" "name" (printf "%s-worker" (include "headrace.fullname" .))) -}}
{{- include "headrace.config" (dict "root" . "role" "orchestrator" "given" .Values.orchestrator.config "fixed" $fixed) -}}
{{- end -}}
