// Package controller has the controllers, clients of the API, in its folders: replication, endpoint and node are parts of
// a cluster, namespace and serviceaccount run in each apiserver.
package controller
