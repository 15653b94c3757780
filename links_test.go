package kube2014

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
)

// A link or a picture: its text, the file, the heading in it.
var (
	link    = regexp.MustCompile(`(!?)\[([^\]]*)\]\(([^)#]*)(#[^)]*)?\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
)

// isAnchor tells whether a document has a heading.
func isAnchor(t *testing.T, file, anchor string) bool {
	for _, match := range heading.FindAllStringSubmatch(block.ReplaceAllString(read(t, file), ""), -1) {
		slug := strings.Map(func(r rune) rune { // as GitHub makes it
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, match[1])
		if "#"+slug == anchor {
			return true
		}
	}
	return false
}

// Links to other sites are not checked. A picture also needs a description.
func TestEveryLinkInADocumentLeadsSomewhere(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(block.ReplaceAllString(read(t, document), ""), -1) {
			isPicture, text, target, anchor := match[1] == "!", match[2], match[3], match[4]
			if strings.Contains(target, "://") {
				continue
			}
			if assert.NotEmpty(t, text, match[0]); isPicture {
				assert.Greater(t, len(text), 40, match[0])
			}
			linked := document
			if target != "" {
				linked = filepath.Join(filepath.Dir(document), target)
			}
			_, err := os.Stat(linked)
			if assert.NoError(t, err, "%s: %s", document, match[0]) && strings.HasSuffix(linked, ".md") && anchor != "" { // TestTheMap checks lines
				assert.True(t, isAnchor(t, linked, anchor), "%s: %s", document, match[0])
			}
		}
	}
}
