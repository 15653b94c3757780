// Package clients tests the apiserver with today's Go client, client-go, with controller-runtime,
// and with today's controller manager. It knows the program by its flags and answers only.
package clients
