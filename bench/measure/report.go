package measure

import (
	"os"
	"path/filepath"
)

// WriteReport writes a document and its plots, by the names of their files, into a folder.
func WriteReport(folder, name, text string, plots map[string]Plot) error {
	for name, plot := range plots {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(plot.SVG()), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)
}
