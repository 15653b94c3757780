// Package auth has who sends a request and what they may do: its folders authenticator, authorizer and user.
package auth
