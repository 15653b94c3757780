// Package controller has the controllers, clients of the API, in its folders: replication, endpoint and node are parts of
// a cluster, the others run in each apiserver. It has what several of them share.
package controller
