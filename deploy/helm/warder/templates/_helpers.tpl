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
