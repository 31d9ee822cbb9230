{{- define "warder.name" -}}
{{- if contains "warder" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-warder" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end -}}
{{- end }}
{{- define "warder.selector" -}}
app.kubernetes.io/name: warder
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "warder.labels" -}}
{{ include "warder.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}
{{- define "warder.rootKeySource" -}}
{{- with .Values.rootKey }}
{{- if and (not .source) .existingSecret .file }}{{ fail "rootKey takes existingSecret or file, not both, unless source names one of them" }}{{ end }}
{{- .source | default (and .existingSecret "environment") | default (and .file "file") | default "" }}
{{- end }}
{{- end }}
{{- /* Fails unless the values that the source cannot do without are there. */}}
{{- define "warder.checkRootKey" -}}
{{- $needed := dict
  "environment" (list "existingSecret") "passphrase" (list "passphrase.existingSecret") "file" (list "file") "shares" list
  "transit" (list "transit.url" "transit.key") "kmip" (list "kmip.server" "kmip.key_id") "pkcs11" (list "pkcs11.library")
  "aws-kms" (list "aws.key") "google-kms" (list "google.key") "azure-key-vault" (list "azure.key") }}
{{- $source := include "warder.rootKeySource" . }}
{{- if not $source }}{{ fail "rootKey.existingSecret, rootKey.file or rootKey.source: all nodes share one root key" }}{{ end }}
{{- if eq $source "systemd" }}{{ fail "rootKey.source systemd: the credentials of systemd reach units of a host, and no container" }}{{ end }}
{{- if not (hasKey $needed $source) }}{{ fail (printf "rootKey.source must be one of %s, not %s" (keys $needed | sortAlpha | join ", ") $source) }}{{ end }}
{{- range $path := get $needed $source }}
{{- $value := $.Values.rootKey }}
{{- range $name := splitList "." $path }}{{ $value = get $value $name }}{{ end }}
{{- if not $value }}{{ fail (printf "rootKey.source %s requires rootKey.%s" $source $path) }}{{ end }}
{{- end }}
{{- end }}
{{- define "warder.rootKeySettings" -}}
{{- range $service := list "AUTH" "KMS" }}
{{- range $table := list "transit" "kmip" "pkcs11" "aws" "google" "azure" "shares" }}
{{- range $name, $value := get $.Values.rootKey $table }}
{{- if kindIs "slice" $value }}{{ $value = join "," $value }}{{ end }}
{{- if kindIs "float64" $value }}{{ $value = int64 $value }}{{ end }}
- { name: {{ printf "%s_ROOT_KEY_%s_%s" $service $table $name | upper }}, value: {{ toString $value | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- /* Ports and addresses of the servers that hold the root key, and of those that give out credentials for them. */}}
{{- define "warder.rootKeyEgress" -}}
{{- with .Values.rootKey }}
{{- $ports := list }}
{{- range $address := list .transit.url .kmip.server .aws.endpoint .aws.sts_endpoint .google.endpoint .azure.key .azure.authority }}
{{- with $address }}{{ $ports = append $ports (regexFind ":[0-9]+(/|$)" . | trimAll ":/" | default "443") }}{{ end }}
{{- end }}
{{- if or .aws .google .azure }}{{ $ports = append $ports "443" }}{{ end }}
{{- with $ports }}
- ports:
    {{- range uniq . }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end }}
{{- if or (eq (.google.credentials | default "") "metadata-server") (eq (.aws.credentials | default "") "instance-metadata") (eq (.azure.credentials | default "") "managed-identity") }}
# The metadata servers of instances, and that of GKE.
- to:
    - ipBlock: { cidr: 169.254.169.254/32 }
    - ipBlock: { cidr: 169.254.169.252/32 }
  ports:
    - { protocol: TCP, port: 80 }
    - { protocol: TCP, port: 988 }
{{- end }}
{{- if and .aws (has (.aws.credentials | default "auto") (list "auto" "container")) }}
# EKS Pod Identity.
- to:
    - ipBlock: { cidr: 169.254.170.23/32 }
    - ipBlock: { cidr: "fd00:ec2::23/128" }
  ports:
    - { protocol: TCP, port: 80 }
{{- end }}
{{- end }}
{{- end }}
{{- define "warder.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "warder.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}
