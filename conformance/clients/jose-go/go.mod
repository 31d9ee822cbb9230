module warder/conformance/josego

go 1.25.5

require github.com/go-jose/go-jose/v4 v4.1.4
