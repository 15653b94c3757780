module kube2014

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/coreos/go-etcd v2.0.0+incompatible
	github.com/stretchr/testify v1.12.1
	github.com/tidwall/btree v1.8.2
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
