// Package kubebuilder is a project as kubebuilder scaffolds it, with the CronJob of its book's tutorial. Its suites stand for
// those of users. What is generated is not kept: go generate makes it.
package kubebuilder

//go:generate go tool controller-gen object crd:maxDescLen=0,generateEmbeddedObjectMeta=true webhook rbac:roleName=manager-role paths=./... output:crd:artifacts:config=config/crd/bases
