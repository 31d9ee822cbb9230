module warder/conformance/kmipgo

go 1.25.5

require github.com/ovh/kmip-go v0.9.2
