// Package kubelet runs the pods of a machine: it updates the status of the machine's node, lets a
// Runtime run the containers of the pods that are bound to it, reports their state, ends them when
// they are deleted, and serves their state and logs over HTTP.
package kubelet
