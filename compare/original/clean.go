package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// inURL matches the ids that the path of a DELETE can carry. The empty one is
// the path that ends with a slash.
var inURL = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)?$`)

// checkEmpty refuses a server that holds objects.
func (s *server) checkEmpty(ctx context.Context) error {
	held, err := s.list(ctx)
	if err != nil || len(held) == 0 {
		return err
	}
	advice := "compare an empty one"
	if slices.ContainsFunc(held, func(o object) bool { return !inURL.MatchString(o.id) }) {
		advice = "start it anew, it cannot delete an id with a slash (D10)"
	}
	return s.errorf("is not empty, it holds %s: %s", inWords(held), advice)
}

func inWords(objects []object) string {
	const most = 3
	var words []string
	for i, object := range objects {
		if i == most {
			words = append(words, fmt.Sprintf("%d more", len(objects)-most))
			break
		}
		words = append(words, object.String())
	}
	return strings.Join(words, ", ")
}

// clean deletes what the steps made. Whether a DELETE worked is told by the
// next list: the original on etcd deletes a service and answers 500 (D14).
func (s *server) clean(ctx context.Context) error {
	held, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, o := range held {
		if !s.made[o] || !inURL.MatchString(o.id) {
			continue
		}
		// On etcd a DELETE of the empty id could take the whole directory with it.
		if o.id == "" && slices.ContainsFunc(held, func(other object) bool { return other.resource == o.resource && !s.made[other] }) {
			continue
		}
		if _, err := s.ask(ctx, "DELETE", prefix+o.resource+"/"+o.id, ""); err != nil {
			return err
		}
	}
	return nil
}

// remains says what of the steps could not be deleted, one line each.
func (s *server) remains(ctx context.Context) ([]string, error) {
	held, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, object := range slices.SortedFunc(maps.Keys(s.made), byName) {
		switch listed := slices.Contains(held, object); {
		case listed:
			lines = append(lines, fmt.Sprintf("%s still holds %s: start it anew before you compare again.", s.name, object))
		case !inURL.MatchString(object.id):
			lines = append(lines, fmt.Sprintf("%s took %s and does not list it (D10): a key that no list shows may remain in its etcd.", s.name, object))
		}
	}
	return lines, nil
}

func byName(a, b object) int { return strings.Compare(a.String(), b.String()) }
