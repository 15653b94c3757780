package clienttest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLeaksAreWordsOfGoThatNoClientSaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, echo string
		leaks      []string
	}{
		{text: `Not Found: task "web" not found`},
		{text: `Internal Error: &{web 0xc000124050}`, leaks: []string{"0x", "&{"}},
		{text: "Internal Error: goroutine 7 [running]:\nmain.main()", leaks: []string{"goroutine", "\n"}},
		{text: `Bad Request: json: cannot unmarshal into Go struct field "0x"`, leaks: []string{"json:", "Go "}},
		{text: `Bad Request: id: "0x\"&{" must begin with a letter or a digit`},
		{text: `Bad Request: id: "0x&{map[`},
		{text: "Bad Request: id: \"a\nb\" must begin with a letter or a digit", leaks: []string{"\n"}},
		{text: `Not Found: 0 %20x`, echo: `0 %20x`},
		{text: `Not Found: 0 %20x map[]`, echo: `0 %20x`, leaks: []string{"map["}},
	} {
		assert.Equal(t, test.leaks, Leaks(test.text, test.echo), test.text)
	}
}
