package conversion

import (
	"bytes"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPartsStayAsTheyAreWhileMoreAreMade(t *testing.T) {
	t.Parallel()
	var parts Parts
	for range 2 { // the second time in the memory of the first
		parts.Reset()
		parts.Add([]byte("<"))
		want := "<"
		for i := range 100 {
			parts.Make(func(text []byte) []byte { return strconv.AppendInt(text, int64(i), 10) })
			want += strconv.Itoa(i)
		}
		parts.Make(func(text []byte) []byte { return append(text, "more than it was to be"...) })
		want += "more than it was to be"
		assert.Equal(t, want, string(bytes.Join(parts.All, nil)))
		assert.Equal(t, len(want)-1, parts.Size(1))
	}
}

func TestTheItemsOfAListAreMadeWhileTheyAreSent(t *testing.T) {
	t.Parallel()
	made := 0
	list, err := EncodedItems(3, func(parts *Parts, i int) error {
		made++
		parts.Make(func(text []byte) []byte { return append(text, "abc"[i]) })
		return nil
	}, func(size int) (_, _ []byte) { return strconv.AppendInt(nil, int64(size), 10), []byte(".") })
	require.NoError(t, err)
	require.Equal(t, 3, made)
	assert.Equal(t, "3abc.", string(list.Bytes()))
	assert.Equal(t, 5, list.Size)
	assert.Equal(t, 6, made)

	wrong := errors.New("wrong")
	_, err = EncodedItems(3, func(_ *Parts, i int) error { return wrong }, nil)
	assert.ErrorIs(t, err, wrong)
}
