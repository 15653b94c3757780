package endpoints

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/conversion"
	"kube2014/pkg/rest"
)

// converted encodes a list as a table, or as one of metadata.
func (r *call) converted(list *rest.List) (conversion.Encoded, error) {
	about := metav1.ListMeta{ResourceVersion: strconv.FormatUint(list.Version, 10), Continue: list.Continue}
	if list.Remaining > 0 {
		about.RemainingItemCount = &list.Remaining
	}
	var empty runtime.Object = &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: r.form.as, APIVersion: r.form.groupVersion()},
		ListMeta: about, Items: []metav1.PartialObjectMetadata{}}
	encode := func(item rest.Answer) ([]byte, error) { return r.appendMetadata(nil, item) }
	if r.form.as == "Table" {
		empty, encode = r.emptyTable(about), r.rowOf
	}
	items := make([][]byte, list.Len())
	err := list.Each(r.Context(), func(i int, item rest.Answer) (err error) {
		items[i], err = encode(item)
		return err
	})
	if err != nil {
		return conversion.Encoded{}, err
	}
	return encodedList(empty, items...)
}

// emptyTable returns a table without rows.
func (r *call) emptyTable(about metav1.ListMeta) *metav1.Table {
	table := r.resource.Printer.Table()
	table.APIVersion, table.ListMeta = r.form.groupVersion(), about
	return table
}

// encodedList encodes an empty list with items, which are the last of what it has.
func encodedList(empty runtime.Object, items ...[]byte) (conversion.Encoded, error) {
	around, err := json.Marshal(empty)
	return conversion.EncodedList(bytes.TrimSuffix(around, []byte("]}")), []byte(","), []byte("]}\n"), items), err
}

// tableOf encodes a table with one row.
func (r *call) tableOf(version string, object runtime.Object, answer rest.Answer, columns bool) (conversion.Encoded, error) {
	table := r.emptyTable(metav1.ListMeta{ResourceVersion: version})
	if !columns {
		table.ColumnDefinitions = nil
	}
	row, err := r.row(object, answer)
	if err != nil {
		return conversion.Encoded{}, err
	}
	return encodedList(table, row)
}

func (r *call) rowOf(answer rest.Answer) ([]byte, error) {
	object, err := answer.Object()
	if err != nil {
		return nil, err
	}
	return r.row(object, answer)
}

// row encodes a row of a table, as a metav1.TableRow would be. The object is that of the
// answer, which has its JSON already.
func (r *call) row(object runtime.Object, answer rest.Answer) ([]byte, error) {
	cells, conditions := r.resource.Printer.Row(object, r.server.Now())
	text := append(make([]byte, 0, rowSize), `{"cells":[`...)
	var err error
	for i, cell := range cells {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = appendCell(text, cell); err != nil {
			return nil, err
		}
	}
	text = append(text, ']')
	if len(conditions) > 0 {
		encoded, err := json.Marshal(conditions)
		if err != nil {
			return nil, err
		}
		text = append(append(text, `,"conditions":`...), encoded...)
	}
	text, err = r.appendIncluded(append(text, `,"object":`...), answer)
	return append(text, '}'), err
}

// rowSize is about that of a pod's row, in bytes.
const rowSize = 640

// appendCell appends the JSON of a cell: as a rule a word, which needs no escapes. By
// reflection the cells are a tenth of the time of a table.
func appendCell(text []byte, cell interface{}) ([]byte, error) {
	needsEscape := func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c) }
	if word, ok := cell.(string); ok && strings.IndexFunc(word, needsEscape) < 0 {
		return append(append(append(text, '"'), word...), '"'), nil
	}
	encoded, err := json.Marshal(cell)
	return append(text, encoded...), err
}

// appendIncluded appends what the client wants to see of the object of a row.
func (r *call) appendIncluded(text []byte, answer rest.Answer) ([]byte, error) {
	switch r.include {
	case metav1.IncludeNone:
		return append(text, "null"...), nil
	case metav1.IncludeObject:
		body, err := answer.Encode()
		if err != nil {
			return nil, err
		}
		return append(text, bytes.TrimSuffix(body.Bytes(), newline)...), nil
	}
	return r.appendMetadata(text, answer)
}
