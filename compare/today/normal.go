package today

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A mask replaces what varies from run to run.
type mask struct {
	old *regexp.Regexp
	by  string
}

func masks(pairs ...string) (all []mask) {
	for pair := range slices.Chunk(pairs, 2) {
		all = append(all, mask{regexp.MustCompile(pair[0]), pair[1]})
	}
	return all
}

func replace(text string, all []mask) string {
	for _, m := range all {
		text = m.old.ReplaceAllString(text, m.by)
	}
	return text
}

const uid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// The output of kubectl was recorded after these were replaced.
var outputMasks = masks(
	uid, "UID",
	`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "TIME",
	`(resourceVersion: )"?\d+"?`, "${1}RV",
	`"resourceVersion": ?"\d+"`, `"resourceVersion":"RV"`,
	`\b10\.\d+\.\d+\.\d+\b`, "IP",
	`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w\w\w \d{4} \d\d:\d\d:\d\d \+0000`, "DATE",
	`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC`, "DATE",
	`https?://127\.0\.0\.1:\d+`, "SERVER",
	`(?m)\b\d+(ms|s|m)( ago)?$`, "AGE",
	`\b\d+s `, "AGE ",
	`-[a-z0-9]{5}( created| deleted)`, "-RANDOM$1",
	`(pod-template-hash=)[a-z0-9]+`, "${1}HASH",
	`(?m)[ \t\r]+$`, "",
	` {2,}`, "  ",
)

func normalOutput(text string) string { return replace(strings.TrimSpace(text), outputMasks) }

// Answers are compared with these masks. Of uids and versions, Differences then checks that
// they are the same, and others, where the recorded ones are.
var answerMasks = masks(
	uid, "UID",
	`"resourceVersion": "[1-9]\d*"`, `"resourceVersion": "RV"`,
	`Too large resource version: \d+, current: \d+`, "Too large resource version: RV, current: RV",
	`"(creationTimestamp|deletionTimestamp|lastTransitionTime)": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`, `"$1": "TIME"`,
	`\bg-[bcdfghjklmnpqrstvwxz2456789]{5}\b`, `g-RANDOM`,
	`(?m)^( +)"\d+[smhdy](\d+[smhdy])?"$`, `$1"AGE"`, // a cell of a table
	`"serverAddress": "[0-9.]+:\d+"`, `"serverAddress": "ADDRESS"`,
	`"(git\w+|buildDate|goVersion|platform)": ".*"`, `"$1": "BUILD"`,
	`\?hash=[0-9A-F]+"`, `?hash=HASH"`,
	`(?s)("kind": "NodeList".*"items": ).*`, "${1}NODES", // the server has machines, the recorded one had none
)

// answerText puts an answer into the form in which answers are compared: JSON has one line
// for each value, in the order and with the escapes that it came with, and without commas.
func answerText(status int, header func(string) string, body string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "status %d\n", status)
	for _, name := range []string{"Content-Type", "Warning", "Retry-After"} {
		if value := header(name); value != "" {
			fmt.Fprintf(&text, "%s: %s\n", name, value)
		}
	}
	body = managed.ReplaceAllString(body, "")
	if strings.HasPrefix(body, `{"type":`) {
		return text.String() + streamText(body)
	}
	var lines bytes.Buffer
	if !strings.HasPrefix(body, "{") || json.Indent(&lines, []byte(body), "", "  ") != nil {
		return text.String() + "\n" + body
	}
	trimmed, ends := strings.CutSuffix(body, "\n")
	fmt.Fprintf(&text, "JSON on one line: %t, ends its last line: %t\n\n", !strings.Contains(trimmed, "\n"), ends)
	return text.String() + comma.ReplaceAllString(strings.TrimSpace(lines.String()), "") + "\n"
}

// streamText puts a stream of events into the form of answerText.
func streamText(body string) string {
	var lines bytes.Buffer
	for event := range strings.Lines(body) {
		lines.WriteByte('\n')
		if json.Indent(&lines, []byte(event), "", "  ") != nil {
			lines.WriteString(event)
		}
	}
	return comma.ReplaceAllString(lines.String(), "")
}

// managed are managed fields, which were removed from the recorded answers.
var managed = regexp.MustCompile(`,\s*"managedFields":\s*\[[^\]]*\]`)

var comma = regexp.MustCompile(`(?m),$`)

// uncut ends a recorded text that was cut after its last whole member. Of what the recorded
// server sends, a text on one line ends with a line break, an indented one does not.
func uncut(text string) (string, bool) {
	text, cut := strings.CutSuffix(text, " …cut")
	if !cut {
		return text, false
	}
	text = text[:strings.LastIndex(text, ",")]
	var closers []byte
	for i, quoted := 0, false; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			closers = append(closers, c+2) // '}' and ']' in ASCII
		case c == '}', c == ']':
			closers = closers[:len(closers)-1]
		}
	}
	slices.Reverse(closers)
	text += string(closers)
	if !strings.Contains(text, "\n") || strings.HasPrefix(text, `{"type":`) {
		text += "\n"
	}
	return text, true
}
