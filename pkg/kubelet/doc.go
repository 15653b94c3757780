// Package kubelet runs the pods of a machine: it keeps the machine's node alive, lets a Runtime run
// the containers of the pods that are bound to it, reports their state, ends them when they are
// deleted, and answers questions about them over HTTP.
package kubelet
