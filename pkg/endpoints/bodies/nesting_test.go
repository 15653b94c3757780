package bodies

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNestingInProtobufIsThatOfTheDecoders(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		message string
		want    int
	}{
		"nothing":                              {"", 0},
		"a text":                               {"\x0a\x03abc", 3},
		"a message in a message":               {"\x0a\x04\x0a\x02ab", 4 + 2},
		"after a number":                       {"\x08\x80\x01\x0a\x02ab", 2},
		"after numbers of a fixed size":        {"\x09........\x0d....\x0a\x02ab", 2},
		"after a group of another field":       {"\x4b\x08\x01\x4c\x0a\x02ab", 2},
		"in a group":                           {"\x0b\x0a\x02ab\x0c", 2},
		"a length that is longer than it must": {"\x0a\x82\x80\x80\x80\x80\x80\x80\x80\x80\x00ab", 2},
		"a length that is too long":            {"\x0a\x82\x80\x80\x80\x80\x80\x80\x80\x80\x02ab", 2},
		"a number that is too long":            {"\x08\x81\x80\x80\x80\x80\x80\x80\x80\x80\x02\x0a\x02ab", 2},
		"a field that is too large":            {"\x8a\x80\x80\x80\x80\x80\x80\x80\x80\x02\x02ab", 2},
		"a length without an end":              {"\x0a" + strings.Repeat("\xff", 11), 0},
		"a message that is too short":          {"\x0a\x03ab", 0},
	} {
		assert.Equal(t, row.want, NestingInProtobuf([]byte(row.message)), name)
	}
}
