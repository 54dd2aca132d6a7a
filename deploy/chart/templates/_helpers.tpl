{{/* What selects the platform's pods. A Deployment's selector can never change. */}}
{{- define "leyden.selector" -}}
app.kubernetes.io/name: leyden
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* What selects the pods of one part: (list . "api") */}}
{{- define "leyden.part" -}}
{{ include "leyden.selector" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels of objects. */}}
{{- define "leyden.labels" -}}
{{ include "leyden.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: leyden
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Labels of objects of one part: (list . "api") */}}
{{- define "leyden.partLabels" -}}
{{ include "leyden.labels" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels and annotations of the pods of one part: (list . "api") */}}
{{- define "leyden.podMetadata" -}}
{{- $root := index . 0 }}
{{- $part := index . 1 }}
{{- $values := index $root.Values $part -}}
labels:
  {{- include "leyden.partLabels" . | nindent 2 }}
  {{- range $name, $value := $values.podLabels }}
  {{- /* Policies and selectors go by these. */}}
  {{- if or (hasPrefix "app.kubernetes.io/" $name) (hasPrefix "helm.sh/" $name) }}
  {{- fail (printf "%s.podLabels: the chart sets %s" $part $name) }}
  {{- end }}
  {{ $name }}: {{ $value | quote }}
  {{- end }}
{{- $annotations := $values.podAnnotations }}
{{- if and $root.Values.metrics.namespace (has $part (list "api" "worker")) }}
{{- /* Prometheus finds pods by these, or by the name of the port. */}}
{{- $annotations = merge (dict) $annotations (dict "prometheus.io/scrape" "true" "prometheus.io/port" "9464") }}
{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Where the pods of one part run: (list . "api") */}}
{{- define "leyden.scheduling" -}}
{{- range $name, $value := pick (index (index . 0).Values (index . 1)) "nodeSelector" "tolerations" "affinity" }}
{{- with $value }}
{{- dict $name . | toYaml | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{/* More variables of the containers of one part: (list . "api") */}}
{{- define "leyden.extraEnv" -}}
{{- $part := index . 1 }}
{{- range (index (index . 0).Values $part).extraEnv }}
{{- if hasPrefix "LEYDEN_" .name }}
{{- fail (printf "%s.extraEnv: %s is a setting; use settings, or secretSettings" $part .name) }}
{{- end }}
{{- list . | toYaml | nindent 8 }}
{{- end }}
{{- end }}

{{/* What only load balancers have: (list "api" .Values.api.service) */}}
{{- define "leyden.loadBalancer" -}}
{{- $service := index . 1 }}
{{- if and (ne $service.type "LoadBalancer") (or $service.loadBalancerClass $service.loadBalancerSourceRanges) }}
{{- fail (printf "%s.service: loadBalancerClass and loadBalancerSourceRanges need the type LoadBalancer" (index . 0)) }}
{{- end }}
{{- with $service.loadBalancerClass }}
{{- print "loadBalancerClass: " . | nindent 2 }}
{{- end }}
{{- with $service.loadBalancerSourceRanges }}
{{- print "loadBalancerSourceRanges: " (toJson .) | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the chart sets itself in every process that opens the installation. */}}
{{- define "leyden.ownEnvironment" -}}
- {name: LEYDEN_HOME, value: /var/lib/leyden}
- {name: LEYDEN_SECRETS_FILE, value: /etc/leyden/keys/secrets.json}
- name: LEYDEN_DATABASE_URL
  valueFrom:
    secretKeyRef: {name: {{ .Values.database.secret }}, key: {{ .Values.database.key }}}
- {name: LEYDEN_RUNTIME, value: kubernetes}
- {name: LEYDEN_KUBERNETES_NAMESPACE, value: {{ .Values.nodes.namespace }}}
- {name: LEYDEN_KUBERNETES_STORAGE_CLASS, value: {{ .Values.nodes.storageClass }}}
- {name: LEYDEN_KUBERNETES_PRIORITY_CLASS, value: {{ .Values.nodes.priorityClass | quote }}}
- name: LEYDEN_KUBERNETES_NODE_SELECTOR
  value: {{ include "leyden.nodeSelector" . | quote }}
- name: LEYDEN_KUBERNETES_TOLERATIONS
  value: {{ include "leyden.tolerations" . | quote }}
- name: LEYDEN_KUBERNETES_IMAGES
  value: {{ range $version, $image := .Values.lndImages }}{{ $version }}={{ $image }},{{ end }}
- {name: LEYDEN_COMPANION_IMAGE, value: {{ .Values.companionImage | quote }}}
- name: LEYDEN_COMPANION_URL
  value: https://{{ .Release.Name }}-companions.{{ .Release.Namespace }}.svc:8010
- {name: LEYDEN_COMPANION_PORT, value: "8010"}
- {name: LEYDEN_NODES_DOMAIN, value: {{ .Values.nodes.domain }}}
- name: LEYDEN_NODES_MAY_REACH
  value: {{ include "leyden.openings" . | quote }}
- {name: LEYDEN_NODES_MAY_NOT_REACH, value: {{ join "," .Values.nodes.mayNotReach | quote }}}
- {name: LEYDEN_API_HOST, value: 0.0.0.0}
- {name: LEYDEN_API_PORT, value: "8000"}
- {name: LEYDEN_METRICS_HOST, value: 0.0.0.0}
- {name: LEYDEN_METRICS_PORT, value: "{{ if .Values.metrics.namespace }}9464{{ else }}0{{ end }}"}
- {name: LEYDEN_GATEWAY_HERE, value: "false"}
- {name: LEYDEN_GATEWAY_ROUTES_PORT, value: "8020"}
{{ include "leyden.gatewayEnvironment" . }}
{{- with .Values.gateway.peers }}{{ if .ports }}
- {name: LEYDEN_PEER_HOST, value: {{ .host }}}
- {name: LEYDEN_PEER_PORTS, value: {{ printf "%d-%d" (int .firstPort) (int (include "leyden.lastPeerPort" $)) | quote }}}
{{- end }}{{ end }}
{{- end }}

{{/* The environment of every process that opens the installation. */}}
{{- define "leyden.environment" -}}
{{- $environment := include "leyden.ownEnvironment" . }}
{{- $own := list "LEYDEN_PEER_HOST" "LEYDEN_PEER_PORTS" "LEYDEN_STOP_DELAY_S" }}
{{- range fromYamlArray $environment }}{{ $own = append $own .name }}{{ end }}
{{- $environment }}
{{- if not (hasKey .Values.settings "log_format") }}
- {name: LEYDEN_LOG_FORMAT, value: json}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- if and (hasPrefix "acme_" $name) $value }}
{{- fail (printf "settings.%s: ACME doesn't work in the chart, because nothing there answers at port 80 of nodes' names. Nodes have certificates of the platform's own authority. For the API, let your ingress have a certificate, for example of cert-manager; see docs/certificates.md" $name) }}
{{- end }}
{{- if and (hasPrefix "api_tls" $name) $value }}
{{- fail (printf "settings.%s: the chart serves the API over plain HTTP to your ingress, which has the certificate; see docs/certificates.md" $name) }}
{{- end }}
{{- $variable := printf "LEYDEN_%s" (upper $name) }}
{{- /* Of two values of one variable the last would count. */}}
{{- if or (has $variable $own) (has (printf "%s_FILE" $variable) $own) }}
{{- fail (printf "settings.%s: the chart sets it from values of its own; see its README.md" $name) }}
{{- end }}
- {name: {{ $variable }}, value: {{ include "leyden.value" $value }}}
{{- end }}
{{- end }}

{{/* nodes.nodeSelector and nodes.tolerations as the platform's settings. */}}
{{- define "leyden.nodeSelector" -}}
{{- range $name, $value := .Values.nodes.nodeSelector }}{{ $name }}={{ $value }},{{ end }}
{{- end }}

{{- define "leyden.tolerations" -}}
{{- range .Values.nodes.tolerations }}
{{- .key }}{{ if ne (default "Equal" .operator) "Exists" }}={{ .value }}{{ end }}{{ with .effect }}:{{ . }}{{ end }},
{{- end }}
{{- end }}

{{/* nodes.mayReach as the platform's setting: a remote signer may be there. */}}
{{- define "leyden.openings" -}}
{{- range $number, $each := .Values.nodes.mayReach }}{{ if $number }},{{ end }}
{{- if contains ":" $each.cidr }}[{{ $each.cidr }}]{{ else }}{{ $each.cidr }}{{ end }}:{{ int $each.port }}
{{- end }}
{{- end }}

{{/* The one way to metrics: they need no password. */}}
{{- define "leyden.scraper" -}}
- from:
  - namespaceSelector:
      matchLabels: {kubernetes.io/metadata.name: {{ .Values.metrics.namespace }}}
  ports:
  - {protocol: TCP, port: metrics}
{{- end }}

{{/* A setting, quoted. Helm reads the numbers of a file as floats, and writes 5e+06. */}}
{{- define "leyden.value" -}}
{{ kindIs "float64" . | ternary (int64 .) . | toString | quote }}
{{- end }}

{{/* What any part of the platform may call. */}}
{{- define "leyden.egress" -}}
# Names. A DNS cache on each machine has an address that is closed below.
- ports:
  - {protocol: UDP, port: 53}
  - {protocol: TCP, port: 53}
{{- if .Values.platform.mayReach }}
{{- range .Values.platform.mayReach }}
- to:
  - ipBlock: {cidr: {{ .cidr }}}
  ports:
  - {protocol: TCP, port: {{ .port }}}
{{- end }}
{{- else }}
# All but link-local addresses, where clouds tell a machine's credentials: the chart
# doesn't know where your database and the cluster's API server are.
- to:
  - ipBlock: {cidr: 0.0.0.0/0, except: [169.254.0.0/16]}
  - ipBlock: {cidr: "::/0", except: ["fe80::/10", "fd00:ec2::/32"]}
{{- end }}
{{- end }}

{{/* Public addresses only. */}}
{{- define "leyden.public" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
    - 0.0.0.0/8
    - 10.0.0.0/8
    - 100.64.0.0/10
    - 127.0.0.0/8
    - 169.254.0.0/16
    - 172.16.0.0/12
    - 192.0.0.0/24
    - 192.0.2.0/24
    - 192.31.196.0/24
    - 192.52.193.0/24
    - 192.88.99.0/24
    - 192.168.0.0/16
    - 192.175.48.0/24
    - 198.18.0.0/15
    - 198.51.100.0/24
    - 203.0.113.0/24
    - 224.0.0.0/4
    - 240.0.0.0/4
    {{- range .except }}{{ if not (contains ":" .) }}
    - {{ . }}
    {{- end }}{{ end }}
- ipBlock:
    cidr: 2000::/3
    except:
    - 2001::/23
    - 2001:db8::/32
    - 2002::/16
    - 2620:4f:8000::/48
    - 3ffe::/16
    - 3fff::/20
    {{- range .except }}{{ if contains ":" . }}
    - {{ . }}
    {{- end }}{{ end }}
{{- end }}

{{- define "leyden.gatewayEnvironment" -}}
- {name: LEYDEN_GATEWAY_TOKEN_FILE, value: /etc/leyden/keys/gateway_token}
- {name: LEYDEN_GATEWAY_HOST, value: 0.0.0.0}
- {name: LEYDEN_GATEWAY_REST_PORT, value: "8080"}
- {name: LEYDEN_GATEWAY_GRPC_PORT, value: "10009"}
{{- end }}

{{- define "leyden.lastPeerPort" -}}
{{ sub (add .Values.gateway.peers.firstPort .Values.gateway.peers.ports) 1 }}
{{- end }}

{{/* The ports of nodes' peers in a policy. */}}
{{- define "leyden.peerPorts" -}}
{protocol: TCP, port: {{ .Values.gateway.peers.firstPort }}, endPort: {{ include "leyden.lastPeerPort" . }}}
{{- end }}

{{- define "leyden.secretSettings" -}}
{{- with .Values.secretSettings }}
envFrom:
- secretRef: {name: {{ . }}}
{{- end }}
{{- end }}

{{/* The keys are the operator's, read-only: no replica makes any. */}}
{{- define "leyden.mounts" -}}
volumeMounts:
- {name: home, mountPath: /var/lib/leyden}
- {name: tmp, mountPath: /tmp}
- {name: keys, mountPath: /etc/leyden/keys, readOnly: true}
- {name: authority, mountPath: /var/lib/leyden/authority, readOnly: true}
{{- end }}

{{- define "leyden.volumes" -}}
volumes:
- name: home
  emptyDir: {}
- name: tmp
  emptyDir: {}
- name: keys
  secret:
    secretName: {{ .Values.keysSecret }}
    defaultMode: 0440
    items:
    - {key: secrets.json, path: secrets.json}
    - {key: gateway_token, path: gateway_token}
- name: authority
  secret:
    secretName: {{ .Values.keysSecret }}
    defaultMode: 0440
    items:
    - {key: root.pem, path: root.pem}
    - {key: intermediate.pem, path: intermediate.pem}
{{- end }}

{{- define "leyden.podSecurity" -}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "leyden.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* By default, replicas are on different machines where there are some: (list . "api") */}}
{{- define "leyden.spread" -}}
topologySpreadConstraints:
{{- with (index (index . 0).Values (index . 1)).topologySpreadConstraints }}
{{ toYaml . }}
{{- else }}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  # Those of the version before don't count: they are about to end.
  matchLabelKeys: [pod-template-hash]
  labelSelector:
    matchLabels:
      {{- include "leyden.part" . | nindent 6 }}
{{- end }}
{{- end }}
