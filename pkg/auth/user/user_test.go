package user

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyAWholeNameIsThatOfAServiceAccount(t *testing.T) {
	t.Parallel()
	namespace, name, ok := SplitServiceAccount(ServiceAccount("default", "robot"))
	assert.Equal(t, []any{"default", "robot", true}, []any{namespace, name, ok})
	for _, other := range []string{"", "robot", "system:serviceaccount", "system:serviceaccount:", "system:serviceaccount:a", "system:serviceaccount:a:",
		"system:serviceaccount::b", "system:serviceaccount:a:b:c", "system:serviceaccounts:a:b", "System:serviceaccount:a:b", " system:serviceaccount:a:b"} {
		namespace, name, ok := SplitServiceAccount(other)
		assert.Equal(t, []any{"", "", false}, []any{namespace, name, ok}, other)
	}
}

func TestAUserIsInTheGroupOfAllWhoAreKnownOrNot(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		who  *Info
		want []string
	}{
		{&Info{Name: "ann"}, []string{AllAuthenticated}},
		{&Info{Name: "ann", Groups: []string{"dev"}}, []string{"dev", AllAuthenticated}},
		{&Info{Name: "ann", Groups: []string{AllAuthenticated, "dev"}}, []string{AllAuthenticated, "dev"}},
		{&Info{Name: "ann", Groups: []string{AllUnauthenticated}}, []string{AllUnauthenticated}},
		{&Info{Name: Anonymous, Groups: []string{AllUnauthenticated}}, []string{AllUnauthenticated}},
		{&Info{Name: Anonymous}, nil},
	} {
		before := *row.who
		assert.Equal(t, row.want, row.who.Known().Groups)
		assert.Equal(t, &before, row.who, "it is shared")
	}
}
