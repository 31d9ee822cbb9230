module warder.example/pki

go 1.21
