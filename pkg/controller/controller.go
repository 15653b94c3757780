// Package controller has what keeps the objects of a cluster as they should be, each a client of the API: its
// folders replication, endpoint and node.
package controller
