// Package controller has the controllers, clients of the API, in its folders replication, endpoint and node.
package controller
