// Package size measures how large a program is, and what each library adds to it.
package size

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Where the README tells the sizes.
var (
	sizeSentence = regexp.MustCompile(`The program has [\d.]+ MB, or [\d.]+ MB without debug information, and answers [\d.]+ ms`)
	libraryRow   = regexp.MustCompile("(?m)^(\\| `([^`]+)` \\| [^|]+ \\| )[\\d.]+( \\|)$")
)

// Sizes are those of a program, in bytes.
type Sizes struct {
	whole, stripped int64
	libraries       map[string]int64 // code and data, by the path of the module
}

// Measure measures a program of this module, and what each module adds to it: the symbols of its packages.
func Measure(program string) (s Sizes, err error) {
	if s.whole, err = sizeOf(program); err != nil {
		return s, err
	}
	if s.stripped, err = withoutDebugInformation(program, s.whole); err != nil {
		return s, err
	}
	modules, err := output("go", "version", "-m", program)
	if err != nil {
		return s, err
	}
	s.libraries = map[string]int64{}
	for line := range strings.Lines(modules) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "dep" {
			s.libraries[fields[1]] = 0
		}
	}
	symbols, err := output("go", "tool", "nm", "-size", program)
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(symbols) {
		s.add(strings.Fields(line))
	}
	return s, nil
}

// add adds a symbol, of whose line in the table these are the fields: address, size, type, name. What is
// only zeroed memory is not in the file.
func (s *Sizes) add(fields []string) {
	if len(fields) < 4 || strings.EqualFold(fields[2], "b") {
		return
	}
	size, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return // it has none
	}
	name := strings.TrimLeft(strings.TrimPrefix(strings.Join(fields[3:], " "), "type:"), "*")
	of := ""
	for module := range s.libraries {
		folder, last := path.Split(module)
		rest, ok := strings.CutPrefix(name, folder+strings.ReplaceAll(last, ".", "%2e")) // as a linker writes it
		if ok && rest != "" && strings.ContainsAny(rest[:1], "./") && len(module) > len(of) {
			of = module
		}
	}
	if of != "" {
		s.libraries[of] += size
	}
}

func sizeOf(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// withoutDebugInformation returns the size that a program of a size has without its symbols and debug information.
func withoutDebugInformation(program string, size int64) (int64, error) {
	file, err := elf.Open(program)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for _, section := range file.Sections {
		if strings.HasPrefix(section.Name, ".debug_") || section.Name == ".symtab" || section.Name == ".strtab" {
			size -= int64(section.FileSize)
		}
	}
	return size, nil
}

func output(program string, args ...string) (string, error) {
	text, err := exec.Command(program, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, err)
	}
	return string(text), nil
}

// InREADME returns the README with these sizes, and with how long it takes to the first answer, in milliseconds.
func (s Sizes) InREADME(text string, start float64) string {
	const mega = 1e6
	text = sizeSentence.ReplaceAllString(text, fmt.Sprintf("The program has %.0f MB, or %.0f MB without debug information, and answers %.0f ms",
		float64(s.whole)/mega, float64(s.stripped)/mega, start))
	return libraryRow.ReplaceAllStringFunc(text, func(row string) string {
		parts := libraryRow.FindStringSubmatch(row)
		return fmt.Sprintf("%s%.2f%s", parts[1], float64(s.libraries[parts[2]])/mega, parts[3])
	})
}
