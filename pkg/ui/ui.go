// Package ui has the page that shows a cluster as it happens. The page is a client of the second door as
// any other: it lists, watches, and has the rights of the token that its user gives it.
package ui

import (
	"embed"
	"io/fs"
	"net/http"
)

// Path is where the page is served, with all that it needs below.
const Path = "/ui/"

//go:embed page
var embedded embed.FS

// policy restricts the page to its own files and its own server, and forbids frames. No text becomes
// HTML or a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Handler serves the page. It contains nothing of the cluster, so everybody may read it.
func Handler() http.Handler {
	files, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err) // the folder is there, or the program would not have been built
	}
	served := http.NewServeMux() // which redirects paths without the last slash
	served.Handle(Path, http.StripPrefix(Path, http.FileServerFS(files)))
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache") // a newer program has a newer page
		served.ServeHTTP(w, req)
	})
}
