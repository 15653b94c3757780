package conversion

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheIndentedSizeIsAboutRight(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":[{"b":1,"c":[1,2,3]},{}],"d":"[[[[[[\"[[[[[[[[[["}`, `[[[[[[[[[[[[1,2,3,4,5]]]]]]]]]]]]`} {
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, []byte(text), "", "    "))
		assert.InEpsilon(t, indented.Len(), IndentedSize(text), 0.4, text)
	}
}
