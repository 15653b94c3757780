// Package browser tests the page at /ui/ in a real Chromium. It knows the program by its flags and answers
// only.
package browser
